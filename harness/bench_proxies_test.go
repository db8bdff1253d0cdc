package harness

import (
	"context"
	"errors"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/wire"
	"github.com/outboxtest/outboxtest/faults/wire/frame"
	"github.com/outboxtest/outboxtest/faults/wire/natswire"
	"github.com/outboxtest/outboxtest/faults/wire/pgwire"
)

// floorProxies are the proxies of one play: one for each link, which stays the
// same when the instance is started again.
type floorProxies interface {
	through(link faults.Link, upstream string) (addr string, err error)
	close() error
}

// stockProxies are those of Toxiproxy as it comes, without toxics.
type stockProxies struct {
	server *toxiproxy.ApiServer
	all    map[faults.Link]*toxiproxy.Proxy
}

func newStockProxies() floorProxies {
	return &stockProxies{toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), map[faults.Link]*toxiproxy.Proxy{}}
}

func (s *stockProxies) through(link faults.Link, upstream string) (string, error) {
	if s.all[link] == nil {
		proxy := toxiproxy.NewProxy(s.server, link.String(), "127.0.0.1:0", upstream)
		if err := proxy.Start(); err != nil {
			return "", err
		}
		s.all[link] = proxy
	}
	return s.all[link].Listen, nil
}

func (s *stockProxies) close() error {
	for _, proxy := range s.all {
		proxy.Stop()
	}
	return nil
}

// ourProxies are those of a trial: they read and observe what passes, and wait
// for a moment that never comes.
type ourProxies struct {
	board    *wire.Board
	all      map[faults.Link]string
	armed    error
	observed int // under the board's lock
}

func newOurProxies() floorProxies {
	o := &ourProxies{all: map[faults.Link]string{}}
	o.board = wire.New(wire.Options{Observe: func(wire.Observation) { o.observed++ }})
	never, err := faults.ParsePoint(`relay.0/postgres "never" #1 unanswered`)
	o.armed = errors.Join(err, o.board.Arm([]faults.Fault{{Do: faults.Cut, At: &never}}))
	return o
}

func (o *ourProxies) through(link faults.Link, upstream string) (addr string, err error) {
	if o.all[link] != "" {
		return o.all[link], nil
	}
	read := func() frame.Conversation { return pgwire.New() }
	if link.Server == faults.Broker {
		read = func() frame.Conversation { return natswire.New() }
	}
	o.all[link], err = o.board.Link(link, upstream, read)
	return o.all[link], errors.Join(err, o.armed)
}

func (o *ourProxies) close() error {
	err := o.board.Close()
	if o.observed == 0 {
		err = errors.Join(err, errors.New("nothing was observed: our proxies were not in the way"))
	}
	return err
}

// BenchmarkProxies compares the time of a trial through our proxies with that
// through a stock Toxiproxy: both play the floor's part, so that nothing else
// differs. "of-stock" is our time against stock's, "of-direct" against no proxy
// at all; they are measured in turns, and a ratio is the median of the rounds'.
func BenchmarkProxies(b *testing.B) {
	s := benchSession(b)
	r := benchPolling(b, s, speedOrders)
	list, _ := benchErrands(b, r)
	logs := b.TempDir()
	for _, kind := range []faults.Kind{faults.Kill, faults.Cut} {
		b.Run(string(kind), func(b *testing.B) {
			trials := make([]errand, speedTrials*len(r.jobs))
			for i := range trials {
				trials[i] = errand{likeliest(b, list, kind)}
			}
			seconds := func(proxies func() floorProxies) func() float64 {
				f := floor{run: r, logs: logs, proxies: proxies}
				return func() float64 {
					took := sideBySide(b, r, trials, func(ctx context.Context, worker int, e errand) error {
						return f.play(ctx, worker, e.scenario())
					})
					return took.Seconds() / float64(len(trials))
				}
			}
			b.ResetTimer()
			rounds := 3 * benchRounds(b) // the differences are small
			times := inTurns(rounds, seconds(nil), seconds(newStockProxies), seconds(newOurProxies))
			b.StopTimer()
			direct, stock, ours := times[0], times[1], times[2]
			ofStock := quotients(ours, stock)
			b.ReportMetric(0, "ns/op") // how long it was measured is no result
			b.ReportMetric(medianOf(ours)*1000, "ms/trial")
			b.ReportMetric(medianOf(ofStock), "of-stock")
			b.ReportMetric(medianOf(quotients(ours, direct)), "of-direct")
			b.Logf("of-stock in each round: %.2f", ofStock)
		})
	}
}
