package harness

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/targets"
)

func variations() []targets.Target { return nil }

func TestScratch(t *testing.T) {
	s := borrow(t)
	sc := scenario.Scenario{Workload: []scenario.Step{{Place: &scenario.Order{Order: "o1", Customer: "c1"}}, {Place: &scenario.Order{Order: "o2", Customer: "c1"}}}}
	begin := time.Now()
	got, err := s.Replay(t.Context(), polling(t), sc, 1, Options{})
	fmt.Println(time.Since(begin), err, got.Judgement)
	f, _ := os.Create("/tmp/acc-history.jsonl")
	properties.Write(f, got.History)
	f.Close()
	begin = time.Now()
	got, err = s.Replay(t.Context(), polling(t), sc, 5, Options{})
	fmt.Println(time.Since(begin), err, got.Judgement.Verdict)
	begin = time.Now()
	r, err := s.Run(t.Context(), polling(t), Options{Out: t.TempDir(), Orders: 2})
	fmt.Println(time.Since(begin), err, r.Verdict, r.Why, r.Points, r.Trials, r.LeftOut)
}
