package harness

import (
	"fmt"
	"regexp"

	"github.com/outboxtest/outboxtest/properties"
)

// mostReasons bounds the causes that are told of one property: what a thousand
// trials have in common is told by the first few.
const mostReasons = 10

// reasons are why something is unknown, each cause once: that of another order
// or of another trial is the same, and is counted.
type reasons struct {
	list []cause
	more int // beyond the list
}

type cause struct {
	key  string
	text string // of its first time
	more int
}

// add notes a reason and where it was given.
func (r *reasons) add(where, reason string) {
	key := regexp.MustCompile(`\d+`).ReplaceAllString(reason, "0")
	for i := range r.list {
		if r.list[i].key == key {
			r.list[i].more++
			return
		}
	}
	if len(r.list) == mostReasons {
		r.more++
		return
	}
	if where != "" {
		reason = where + ": " + reason
	}
	r.list = append(r.list, cause{key: key, text: reason})
}

// judged notes why one trial is unknown: by property, where a reason belongs to
// one, and those that count.
func (r *reasons) judged(j properties.Judgement) {
	for _, p := range j.Results {
		if !p.Claimed {
			continue
		}
		for _, why := range p.Why {
			r.add(p.Property, why)
		}
	}
	for _, why := range j.Why {
		r.add("", why)
	}
	if j.Blame != "" {
		r.add("to blame", j.Blame)
	}
}

// told are the reasons, and how many there were besides.
func (r *reasons) told() []string {
	if r == nil {
		return nil
	}
	var told []string
	for _, c := range r.list {
		if c.more > 0 {
			c.text += fmt.Sprintf(" (and %d more like this, of other orders or trials)", c.more)
		}
		told = append(told, c.text)
	}
	if r.more > 0 {
		told = append(told, fmt.Sprintf("and %d more", r.more))
	}
	return told
}
