package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/scenario"
	"github.com/outboxtest/outboxtest/properties"
)

// The phases of a trial, in their order.
const (
	phaseMake    = iota // the database and the stream
	phaseStart          // the proxies and the processes, until the first order is asked for
	phaseOrders         // an order is asked for and not answered
	phaseDrain          // the rest, until the wait for the outbox has ended
	phaseBypass         // the look for connections past the proxies
	phaseStop           // every process is killed
	phaseQuiesce        // the proxies are closed, and no backend has a transaction
	phaseLedgers        // the last reading
	phaseDrop           // the database and the stream
	phaseJudge
	phases
)

var phaseNames = [phases]string{
	"make", "start", "orders", "drain", "bypass", "stop", "quiesce", "ledgers", "drop", "judge",
}

// phaseTimes is the time of each phase.
type phaseTimes [phases]time.Duration

func (p phaseTimes) whole() (sum time.Duration) {
	for _, d := range p {
		sum += d
	}
	return sum
}

// add reads the phases off a history. Took is the time of the whole trial, and
// judged that of its judgement.
func (p *phaseTimes) add(history []properties.Event, took, judged time.Duration) error {
	var last time.Duration
	open, drained, ended := 0, false, false
	until := func(e properties.Event, phase int) {
		p[phase] += e.At - last
		last = e.At
	}
	begun := false
	for _, e := range history {
		switch {
		case e.Kind == properties.KindTrial:
			until(e, phaseMake)
		case e.Kind == properties.KindCall:
			switch {
			case !begun:
				until(e, phaseStart)
			case open == 0:
				until(e, phaseDrain)
			}
			begun = true
			open++
		case e.Kind == properties.KindAnswer:
			if open--; open == 0 {
				until(e, phaseOrders)
			}
		case e.Kind == properties.KindDrain:
			until(e, phaseDrain)
			drained = true
		case drained && e.Ledger != nil && e.Ledger.Name == properties.LedgerBackends:
			until(e, phaseBypass)
		case drained && e.Process != nil:
			until(e, phaseStop)
		case e.Kind == properties.KindQuiesced:
			until(e, phaseQuiesce)
		case e.Kind == properties.KindEnd:
			until(e, phaseLedgers)
			ended = true
		}
	}
	if !ended || open != 0 {
		return errors.New("the history is not that of a whole trial")
	}
	p[phaseDrop] += took - last
	p[phaseJudge] += judged
	return nil
}

// BenchmarkPhases tells the share of a trial's time that each phase takes, with
// trials side by side as in a sweep. What is done in the background, the making
// ahead of databases and their dropping, is in none of them.
func BenchmarkPhases(b *testing.B) {
	s := benchSession(b)
	r := benchPolling(b, s, speedOrders)
	list, _ := benchErrands(b, r)
	var table strings.Builder
	fmt.Fprintf(&table, "%-24s %8s", "share of the time", "ms/trial")
	for _, name := range phaseNames {
		fmt.Fprintf(&table, " %7s", name)
	}
	row := func(b *testing.B, name string, scenarios []scenario.Scenario) {
		p := r.phases(b, scenarios)
		b.ReportMetric(0, "ns/op") // the table has the times
		fmt.Fprintf(&table, "\n%-24s %8.0f", name, p.whole().Seconds()*1000/float64(len(scenarios)))
		for i, d := range p {
			share := 100 * d.Seconds() / p.whole().Seconds()
			fmt.Fprintf(&table, " %6.1f%%", share)
			b.ReportMetric(share, phaseNames[i]+"-%")
		}
	}
	for _, kind := range []faults.Kind{faults.Kill, faults.Cut} {
		b.Run(string(kind), func(b *testing.B) {
			var scenarios []scenario.Scenario
			for range speedTrials * len(r.jobs) {
				scenarios = append(scenarios, likeliest(b, list, kind).Scenario)
			}
			row(b, "a "+string(kind)+" of its own", scenarios)
		})
	}
	b.Run("sweep", func(b *testing.B) {
		var scenarios []scenario.Scenario
		for _, e := range list {
			scenarios = append(scenarios, e.scenario())
		}
		row(b, "the sweep, with chains", scenarios)
	})
	fmt.Println(table.String())
}

// phases executes scenarios, side by side on all jobs, and tells where their
// time went.
func (r *run) phases(b *testing.B, scenarios []scenario.Scenario) (sum phaseTimes) {
	b.Helper()
	var mu sync.Mutex
	sideBySide(b, r, scenarios, func(ctx context.Context, worker int, s scenario.Scenario) error {
		begin := time.Now()
		out, err := r.jobs[worker].Run(ctx, s, r.baseline(s))
		took := time.Since(begin)
		if err != nil {
			return err
		}
		begin = time.Now()
		properties.Judge(out.History)
		judged := time.Since(begin)
		mu.Lock()
		defer mu.Unlock()
		return sum.add(out.History, took, judged)
	})
	return sum
}
