package parts

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// The operations of the stdio protocol.
const (
	OpPlace = "place"
	OpAbort = "abort"
)

// longestLine bounds a request.
const longestLine = 1 << 20

// Request is one line of the stdio protocol; see docs/stdio.md.
type Request struct {
	ID       int64  `json:"id"`
	Op       string `json:"op"`
	Order    string `json:"order"`
	Customer string `json:"customer"`
}

type answer struct {
	ID    int64  `json:"id"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// Serve answers each request of in on out as soon as handle returns, so that
// requests overlap and answers come out of order. It returns when in ends and
// everything is answered, or with the first line that is no request.
func Serve(ctx context.Context, in io.Reader, out io.Writer, handle func(context.Context, Request) error) error {
	var running sync.WaitGroup
	defer running.Wait()
	var writing sync.Mutex
	reply := func(a answer) {
		line, _ := json.Marshal(a) // a number, a bool and a string always encode
		writing.Lock()
		defer writing.Unlock()
		_, _ = out.Write(append(line, '\n')) // whoever asked is gone if this fails
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var req Request
		if err := json.Unmarshal(lines.Bytes(), &req); err != nil {
			return fmt.Errorf("read a request from standard input: %w", err)
		}
		running.Go(func() {
			a := answer{ID: req.ID, OK: true}
			if err := handle(ctx, req); err != nil {
				a.OK, a.Error = false, err.Error()
			}
			reply(a)
		})
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return nil
}
