package pgwire

import (
	"encoding/binary"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// server reads a typed message of the server.
func (c *Conversation) server(tag byte, body []byte) []frame.Event {
	first := c.queue.at(0)
	switch tag {
	case 'D':
		if first != nil {
			first.dataRows++
			c.note(first, tag, body)
		}
	case 'd':
		if c.streaming && len(body) > 0 {
			if event, ok := c.replicated(body); ok {
				return c.alone(frame.FromServer, event)
			}
		}
	case 'N', 'S':
		return c.part(frame.FromServer, 0)
	case 'A':
		return c.alone(frame.FromServer, frame.Event{Kind: frame.Push, Label: "notify"})
	case 'C':
		text, _ := cstring(body)
		return c.completed(string(text))
	case 'I', 's', 'V':
		return c.completed("")
	case 'E':
		return c.failed(body)
	case 'Z':
		status := byte('I')
		if len(body) > 0 {
			status = body[0]
		}
		return c.ready(status)
	case 'G':
		c.copyIn, c.copying = true, first.number()
		c.queue.dropSyncs()
		// The client sends the data only when it has this: it is never kept back.
		return c.part(frame.FromServer, 0)
	case 'W':
		if first.number() != 0 {
			c.streaming = true
			event := c.reply(first)
			first.kind = spent
			return c.one(frame.FromServer, event)
		}
	case 'K':
		if len(body) >= 4 {
			return []frame.Event{{Kind: frame.Part, Exchange: first.withheldBy(), Backend: uint64(binary.BigEndian.Uint32(body))}}
		}
	}
	return c.part(frame.FromServer, first.withheldBy())
}

// completed takes the end of one statement: a CommandComplete with its tag, or
// an EmptyQueryResponse, a PortalSuspended or a FunctionCallResponse without.
func (c *Conversation) completed(tag string) []frame.Event {
	first := c.queue.at(0)
	number := first.number()
	if number == 0 {
		return c.part(frame.FromServer, 0)
	}
	c.note(first, 'C', []byte(tag))
	c.settle(first, tag)
	if first.kind != executing || c.queue.synced(0) {
		return c.part(frame.FromServer, number)
	}
	event := c.reply(first)
	// Outside a block the implicit transaction stays open until a Sync, unless
	// this statement ended it.
	event.InTransaction = c.block || first.ended == ""
	c.queue.drop(1)
	return c.one(frame.FromServer, event)
}

// settle adds the outcome of one statement to its exchange, and to what is
// known of the transaction.
func (c *Conversation) settle(e *entry, tag string) {
	t := e.statement.part(e.next)
	e.next++
	verb, rows := readTag(tag)
	if tag == "" && e.dataRows > 0 {
		rows = e.dataRows // a suspended portal has no tag
	}
	if rows >= 0 {
		e.rows = max(e.rows, 0) + rows
	}
	untouched := rows == 0 && t&uncounted == 0
	if !untouched && t&quiet == 0 && !quietTag(verb) {
		e.active = true
	}
	wrote := !untouched && (t&changes != 0 || rows > 0 && changingTag(verb))
	e.write = e.write || wrote
	switch verb {
	case "BEGIN", "START TRANSACTION":
		c.block = true
	case "COMMIT":
		e.ended, c.block, c.wrote = "commit", t&chain != 0, false
		return
	case "COMMIT PREPARED":
		e.ended = "commit"
	case "ROLLBACK":
		if t&rollbackTo != 0 {
			break
		}
		if e.ended == "" {
			e.ended = "rollback"
		}
		c.block, c.wrote = t&chain != 0, false
		return
	case "ROLLBACK PREPARED":
		if e.ended == "" {
			e.ended = "rollback"
		}
	case "PREPARE TRANSACTION":
		c.block, c.wrote = false, false
		return
	}
	if wrote && !c.block {
		c.wrote = true
	}
}

// note adds a part of its reply to e.
func (c *Conversation) note(e *entry, tag byte, body []byte) {
	if e.asked != 0 {
		e.sum = c.repeats.mix(e.sum+uint64(tag), body)
		e.cut = e.cut || c.cut
	}
}

// reply is the event that ends e.
func (c *Conversation) reply(e *entry) frame.Event {
	same := c.repeats.answered(e, c.block)
	if e.transaction == c.transaction && (e.active && same == 0 || e.err != "") {
		c.busy = true
	}
	event := frame.Event{
		Kind: frame.Reply, Exchange: e.exchange, Label: e.label, Ended: e.ended, InTransaction: c.block,
		Error: e.err, Rows: -1,
	}
	if e.err == "" {
		event.Rows, event.Write = e.rows, e.write
		event.Idle, event.Same = e.empty() || same != 0, same
	} else if e.ended == "commit" {
		event.Write = e.write // a part of the query was committed before the error
	}
	return event
}

// failed takes an ErrorResponse.
func (c *Conversation) failed(body []byte) []frame.Event {
	text, fatal := errorText(body)
	first := c.queue.at(0)
	number := first.number()
	switch {
	case fatal || first != nil && first.kind == connecting:
		return c.over(text)
	case first != nil && first.kind == spent:
		return c.part(frame.FromServer, 0)
	case first != nil && first.kind == querying:
		c.copyIn = false
		if first.err == "" {
			first.err = text
		}
		return c.part(frame.FromServer, number)
	}
	c.copyIn, c.wrote = false, false
	c.skipping, c.skipError = true, text
	n := c.queue.segment()
	var events []frame.Event
	gone := 0
	for i := range n {
		e := c.queue.at(i)
		if i == 0 {
			e.err = text
		} else {
			e.err = "skipped: " + text
		}
		if !c.queue.synced(i) {
			events = append(events, c.reply(e))
			gone++
		}
	}
	c.queue.drop(gone)
	if events == nil {
		return c.part(frame.FromServer, number)
	}
	return events
}

// over ends everything: behind a fatal error the server answers nothing.
func (c *Conversation) over(text string) []frame.Event {
	var events []frame.Event
	c.block = false
	for i := range c.queue.len() {
		e := c.queue.at(i)
		if e.number() == 0 {
			continue
		}
		e.err = text
		if len(events) > 0 {
			e.err = "skipped: " + text
		}
		events = append(events, c.reply(e))
	}
	c.queue.drop(c.queue.len())
	if events == nil {
		return c.part(frame.FromServer, 0)
	}
	return events
}

// ready takes a ReadyForQuery, which answers one Sync or one simple query, and
// with it everything ahead that is still unanswered.
func (c *Conversation) ready(status byte) []frame.Event {
	n := c.answered()
	wasBlock, wrote := c.block, c.wrote
	c.block, c.wrote = status != 'I', false
	events := c.scratch[frame.FromServer][:0]
	for i := range n {
		e := c.queue.at(i)
		if e.number() == 0 {
			continue
		}
		if c.skipping && e.err == "" {
			e.err = "skipped: " + c.skipError
		}
		events = append(events, c.reply(e))
	}
	c.queue.drop(n)
	c.skipping, c.skipError = false, ""
	c.copying, c.copyIn, c.streaming, c.replication = 0, false, false, replication{}
	if c.queue.len() == 0 {
		c.open = c.block
	}
	if len(events) == 0 {
		// A Sync on its own can commit what its pipeline did before.
		event := frame.Event{Kind: frame.Part, InTransaction: c.block}
		if wrote && !c.block {
			event.Ended = "commit"
		}
		return c.one(frame.FromServer, event)
	}
	last := &events[len(events)-1]
	switch {
	case last.Ended != "" || c.block:
	case last.Error != "" && wasBlock:
		last.Ended = "rollback"
	case last.Error == "" && wrote:
		last.Ended = "commit"
	}
	return events
}

// answered is the number of entries that a ReadyForQuery answers.
func (c *Conversation) answered() int {
	if c.skipping {
		if n := c.queue.segment(); n < c.queue.len() {
			return n + 1
		}
	}
	for i := range c.queue.len() {
		if c.queue.at(i).readies() {
			return i + 1
		}
	}
	return c.queue.len()
}
