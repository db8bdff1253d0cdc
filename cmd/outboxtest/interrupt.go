package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// waiting knows what an interrupted command still waits for.
type waiting struct {
	mu   sync.Mutex
	what string
}

func (w *waiting) set(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.what = what
}

func (w *waiting) get() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.what == "" {
		return "the command to end"
	}
	return w.what
}

// interruptible returns a context that the first Ctrl-C ends. Every further one
// says what is still waited for. The caller calls stop, which waits for the
// goroutine that listens.
func (a *app) interruptible(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var listener sync.WaitGroup
	listener.Go(func() {
		first := true
		for range signals {
			a.meter.clear()
			if first {
				fmt.Fprintln(a.errOut, "outboxtest: stopping and cleaning up")
				cancel()
			} else {
				fmt.Fprintf(a.errOut, "outboxtest: still waiting for %s; kill -9 %d is safe too, the guard cleans up\n", a.waits.get(), os.Getpid())
			}
			first = false
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		listener.Wait()
		cancel()
	}
}
