package harness

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/scenario"
)

// floorProcess is a process of the floor. An app is asked for one order at a
// time, by the protocol of docs/stdio.md.
type floorProcess struct {
	process *proc.Process
	asked   int
}

func (p *floorProcess) ask(ctx context.Context, op string, o scenario.Order) error {
	p.asked++
	line, err := json.Marshal(struct {
		ID       int    `json:"id"`
		Op       string `json:"op"`
		Order    string `json:"order"`
		Customer string `json:"customer,omitempty"`
	}{p.asked, op, o.Order, o.Customer})
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, o.Order, err)
	}
	if _, err := p.process.Stdin().Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%s %s: %w", op, o.Order, err)
	}
	for {
		line, err := p.process.ReadLine(ctx)
		if err != nil {
			return fmt.Errorf("%s %s: %w: %s", op, o.Order, err, p.process.Tail())
		}
		var answer struct {
			ID    int    `json:"id"`
			OK    bool   `json:"ok"`
			Error string `json:"error"`
		}
		if json.Unmarshal([]byte(line.Text), &answer) != nil || answer.ID != p.asked {
			continue
		}
		if !answer.OK {
			return fmt.Errorf("%s %s: the app says: %s", op, o.Order, answer.Error)
		}
		return nil
	}
}
