package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
)

// maxRows bounds what is read of a ledger: a query that returns more is not
// the query of a trial with a handful of orders.
const maxRows = 100_000

// ledgers reads the three ledgers of a trial on direct connections, and
// records a reading when it says something new.
type ledgers struct {
	t *trial

	committed []properties.Row
	log       []properties.Message
	lastSeq   uint64
	missing   int
	other     int // messages that are no events
	applied   []properties.Effect
	pending   *int64
	backlog   []properties.Backlog
	// redelivered counts the messages that consumers were given more than once and
	// have not acknowledged.
	redelivered int
	ackWait     stack.AckWait
	recorded    map[string]bool
	// effects and at are the recorder's count and the time of the last reading.
	effects int
	at      time.Time
	orders  *orders
	// known are the rows' own ids, from every reading.
	known rowIDs
}

func newLedgers(t *trial) *ledgers {
	placed, aborted := t.scenario.Orders()
	return &ledgers{t: t, recorded: map[string]bool{}, orders: newOrders(slices.Concat(placed, aborted)), known: rowIDs{}}
}

// refresh takes a reading if the wire showed anything that may have changed a
// ledger since the last one, or if that is a while ago: not everything that
// happens is seen on a link.
func (l *ledgers) refresh(ctx context.Context) error {
	const stale = 50 * time.Millisecond
	effects := l.t.rec.effectsSoFar()
	if effects == l.effects && time.Since(l.at) < stale {
		return nil
	}
	if err := l.read(ctx); err != nil {
		return err
	}
	l.effects, l.at = effects, time.Now()
	l.record(false)
	return nil
}

// read takes a reading of everything. Pending is read before and after the
// log, and counts only when both say the same.
func (l *ledgers) read(ctx context.Context) error {
	before, err := l.readPending(ctx)
	if err := l.t.look.postpone(err); err != nil {
		return err
	}
	if err := l.readCommitted(ctx); err != nil {
		return err
	}
	if err := l.readLog(ctx); err != nil {
		return err
	}
	if err := l.t.look.postpone(l.readApplied(ctx)); err != nil {
		return err
	}
	if err := l.readBacklog(ctx); err != nil {
		return err
	}
	after, err := l.readPending(ctx)
	if err := l.t.look.postpone(err); err != nil {
		return err
	}
	if before != nil && after != nil && *before != *after {
		after = nil
	}
	l.pending = after
	return nil
}

func (l *ledgers) readCommitted(ctx context.Context) error {
	rows, err := l.committedRows(ctx)
	if err != nil {
		return err
	}
	l.committed = rows
	for _, row := range rows {
		l.known.note(row.ID, row.Order)
	}
	return nil
}

// committedRows returns the rows of the committed query, those of the trial's
// orders by their tokens. It may be called beside any other reading.
func (l *ledgers) committedRows(ctx context.Context) (list []properties.Row, err error) {
	rows, err := l.t.db.Conn().Query(ctx, l.t.job.target.Committed)
	if err != nil {
		return nil, &TargetError{Stage: StageCommitted, What: "the committed query fails: " + err.Error(), Mend: "it returns the order's token and optionally the row's own id"}
	}
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, &TargetError{Stage: StageCommitted, What: "the committed query's rows cannot be read: " + err.Error()}
		}
		if len(values) < 1 || len(values) > 2 {
			return nil, &TargetError{Stage: StageCommitted, What: fmt.Sprintf("the committed query returns %d columns", len(values)), Mend: "it returns the order's token and optionally the row's own id"}
		}
		row := properties.Row{Order: text(values[0])}
		token, err := l.orders.find(row.Order)
		switch {
		case err != nil:
			return nil, &TargetError{Stage: StageCommitted, What: "the first column of the committed query: " + err.Error()}
		case token != "":
			row.Order = token
		}
		if len(values) == 2 {
			row.ID = text(values[1])
		}
		if list = append(list, row); len(list) > maxRows {
			return nil, &TargetError{Stage: StageCommitted, What: fmt.Sprintf("the committed query returns more than %d rows", maxRows)}
		}
	}
	if err := rows.Err(); err != nil {
		return nil, &TargetError{Stage: StageCommitted, What: "the committed query fails: " + err.Error()}
	}
	return list, nil
}

func (l *ledgers) readLog(ctx context.Context) error {
	log, err := l.t.stream.Log(ctx, l.lastSeq+1)
	if err != nil {
		return fmt.Errorf("read the broker's log: %w", err)
	}
	l.lastSeq = log.Last
	l.missing += len(log.Gone)
	for _, m := range log.Messages {
		l.t.look.stored(m)
		events := l.t.rec.read.Events(targets.Message{Topic: m.Subject, Key: m.Subject, Header: m.Header, Body: m.Data})
		if len(events) == 0 {
			l.other++
		}
		for part, e := range events {
			l.log = append(l.log, l.logged(m.Sequence, part, e))
		}
		if len(l.log) > maxRows {
			return &TargetError{Stage: StageLog, What: fmt.Sprintf("the broker's log holds more than %d events of one trial", maxRows)}
		}
	}
	return nil
}

// readWhole takes a reading with the broker's log from its beginning: the other
// readings go on from the last one, and would not notice what the broker has
// lost since.
func (l *ledgers) readWhole(ctx context.Context) error {
	l.log, l.lastSeq, l.missing, l.other = nil, 0, 0, 0
	return l.read(ctx)
}

func (l *ledgers) readApplied(ctx context.Context) error {
	query := l.t.job.appliedQuery()
	rows, err := l.t.db.Conn().Query(ctx, query)
	if err != nil {
		return &TargetError{Stage: StageApplied, What: "the applied query fails: " + err.Error(), Mend: "it returns event id, consumer and the number of effects"}
	}
	defer rows.Close()
	l.applied = nil
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return &TargetError{Stage: StageApplied, What: "the applied query's rows cannot be read: " + err.Error()}
		}
		if len(values) != 3 {
			return &TargetError{Stage: StageApplied, What: fmt.Sprintf("the applied query returns %d columns", len(values)), Mend: "it returns event id, consumer and the number of effects"}
		}
		n, ok := number(values[2])
		if !ok {
			return &TargetError{Stage: StageApplied, What: fmt.Sprintf("the applied query's third column is %v, no number of effects", values[2])}
		}
		l.applied = append(l.applied, properties.Effect{EventID: text(values[0]), Consumer: text(values[1]), Count: int(n)})
		if len(l.applied) > maxRows {
			return &TargetError{Stage: StageApplied, What: fmt.Sprintf("the applied query returns more than %d rows", maxRows)}
		}
	}
	if err := rows.Err(); err != nil {
		return &TargetError{Stage: StageApplied, What: "the applied query fails: " + err.Error()}
	}
	return nil
}

func (l *ledgers) readPending(ctx context.Context) (*int64, error) {
	query := l.t.job.target.Pending
	if query == "" {
		return nil, nil
	}
	var value any
	if err := l.t.db.Conn().QueryRow(ctx, query).Scan(&value); err != nil {
		return nil, &TargetError{Stage: StagePending, What: "the pending query fails: " + err.Error(), Mend: "it returns one number"}
	}
	n, ok := number(value)
	if !ok {
		return nil, &TargetError{Stage: StagePending, What: fmt.Sprintf("the pending query returns %v, not a number", value)}
	}
	return &n, nil
}

func (l *ledgers) readBacklog(ctx context.Context) error {
	consumers, err := l.t.stream.Consumers(ctx)
	if err != nil {
		return fmt.Errorf("read what the broker still holds: %w", err)
	}
	l.backlog, l.redelivered = nil, 0
	for _, c := range consumers {
		b := properties.Backlog{Consumer: c.Name, Pending: int64(c.Pending), Unacked: int64(c.AckPending), Abandoned: l.t.rec.abandoned(c, consumers)}
		l.backlog = append(l.backlog, b)
		if !b.Abandoned {
			l.redelivered += c.Redelivered
		}
	}
	l.ackWait = stack.LongestAckWait(consumers)
	l.t.look.acknowledges(l.ackWait)
	return nil
}

// record adds the readings to the history: all of them when final, otherwise
// those whose content has not been recorded before.
func (l *ledgers) record(final bool) {
	l.put(properties.Ledger{Name: properties.LedgerCommitted, Final: final, Committed: slices.Clone(l.committed)})
	l.put(properties.Ledger{Name: properties.LedgerLog, Final: final, Log: slices.Clone(l.log), Missing: l.missing, Other: l.other})
	l.put(properties.Ledger{Name: properties.LedgerApplied, Final: final, Applied: slices.Clone(l.applied)})
	l.put(properties.Ledger{Name: properties.LedgerBroker, Final: final, Broker: slices.Clone(l.backlog)})
	if l.pending != nil {
		l.put(properties.Ledger{Name: properties.LedgerPending, Final: final, Pending: l.pending})
	}
}

func (l *ledgers) put(reading properties.Ledger) {
	if !reading.Final {
		key := fmt.Sprint(reading.Name, reading.Committed, reading.Log, reading.Applied, reading.Broker)
		if reading.Pending != nil {
			key += fmt.Sprint(*reading.Pending)
		}
		if l.recorded[key] {
			return
		}
		l.recorded[key] = true
	}
	l.t.rec.add(properties.Event{Kind: properties.KindLedger, Ledger: &reading})
}
