package proc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// undoPatience bounds one undoing.
const undoPatience = 30 * time.Second

// Undoer undoes one kind of thing. The argument may hold secrets; the error must
// not.
type Undoer func(ctx context.Context, arg string) error

// GuardMain is the guard's main function. It reads orders from in until that
// ends, then kills what was registered and undoes what was registered, last
// first, and returns what it could not do. It answers on out and says the same
// to the default logger, for the case that nobody reads out any more. Signals
// that a terminal sends to all are ignored: only the end of in ends the guard.
func GuardMain(in io.Reader, out io.Writer, undo map[string]Undoer) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	w := &watch{groups: map[int]uint64{}, undo: undo, say: json.NewEncoder(out)}
	if err := w.say.Encode(answer{Ready: true, Kinds: slices.Sorted(maps.Keys(undo))}); err != nil {
		w.problem(fmt.Errorf("the guard's answer: %w", err))
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err == nil {
			err = w.obey(line)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			w.problem(fmt.Errorf("the guard's orders: %w", err))
			break
		}
	}
	w.kill()
	w.undoAll()
	return errors.Join(w.problems...)
}

// watch is what the guard knows.
type watch struct {
	token    string
	groups   map[int]uint64
	things   []order
	undo     map[string]Undoer
	say      *json.Encoder
	problems []error
}

func (w *watch) problem(err error) {
	w.problems = append(w.problems, err)
	slog.Error("guard", "err", err)
	_ = w.say.Encode(answer{Error: err.Error()}) // nobody may be there to read it
}

func (w *watch) obey(line []byte) error {
	var o order
	if err := json.Unmarshal(line, &o); err != nil {
		// Not the line itself: it may hold a secret.
		return fmt.Errorf("read a line of %d bytes: %w", len(line), err)
	}
	switch o.Do {
	case "begin":
		w.token = o.Arg
	case "group":
		w.groups[o.PID] = o.Born
	case "forget":
		delete(w.groups, o.PID)
	case "undo":
		w.things = append(w.things, o)
	case "release":
		w.things = slices.DeleteFunc(w.things, func(t order) bool { return t.ID == o.ID })
	default:
		return fmt.Errorf("an unknown order %q", o.Do)
	}
	return nil
}

// kill ends every group, their descendants, and whoever has the run's token.
func (w *watch) kill() {
	for group, born := range w.groups {
		// The number was given to another process after the leader was reaped.
		if now := startTime(group); now != 0 && now != born {
			delete(w.groups, group)
		}
	}
	// Not stopped first, as Kill does: the kernel hangs up on stopped groups
	// whose parent is just dying, and they would be gone before the look.
	family := descendants(slices.Collect(maps.Keys(w.groups))...)
	for group := range w.groups {
		_ = syscall.Kill(-group, syscall.SIGKILL) // no such group is as good
	}
	h := hunt{groups: w.groups, family: family, since: startTime(os.Getpid())}
	if w.token != "" {
		h.marker = runVariable + "=" + w.token
	}
	if left := sweep(h); len(left) > 0 {
		w.problem(fmt.Errorf("the processes %v do not die", left))
	}
}

func (w *watch) undoAll() {
	for _, thing := range slices.Backward(w.things) {
		if err := w.undoOne(thing); err != nil {
			w.problem(fmt.Errorf("undo by %s: %w", thing.Kind, err))
		}
	}
}

func (w *watch) undoOne(thing order) (err error) {
	undo, ok := w.undo[thing.Kind]
	if !ok {
		return errors.New("the guard does not know how")
	}
	ctx, cancel := context.WithTimeout(context.Background(), undoPatience)
	defer cancel()
	defer func() {
		// One broken undo must not keep the others from being done.
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v", r)
		}
	}()
	return undo(ctx, thing.Arg)
}
