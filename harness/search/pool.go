package search

import (
	"context"
	"errors"
	"iter"
	"sync"
)

// ErrStop ends a walk over cells early, without an error.
var ErrStop = errors.New("stop")

// Each gives every cell, in order, to the next free of the workers, which are
// numbered from 0. Cells may be without end. It returns when all are done: with the first error of visit,
// or nil when that was [ErrStop]. After an error no new cell is begun.
func Each[T any](ctx context.Context, workers int, cells iter.Seq[T], visit func(ctx context.Context, worker int, cell T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan T)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for cell := range queue {
				if ctx.Err() != nil {
					continue
				}
				if err := visit(ctx, w, cell); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for cell := range cells {
		select {
		case queue <- cell:
		case <-ctx.Done():
			break feed
		}
	}
	close(queue)
	wg.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, ErrStop) {
		return err
	}
	return nil
}
