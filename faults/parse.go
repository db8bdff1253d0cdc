package faults

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// faultForm is what a fault looks like on one line.
const faultForm = `want FAULT at POINT, such as kill at relay.0/postgres "update outbox" #1 unanswered`

// ParseFault reads the line that [Fault.String] writes. Any space may be a line
// break with an indentation, as where a report has folded the line. It does not validate: see
// [Fault.Validate]. An error says which part is wrong and what it should be.
func ParseFault(text string) (Fault, error) {
	l := line{rest: unfolded(text)}
	f, err := l.fault()
	if err != nil {
		return Fault{}, err
	}
	if l.skip(); l.rest != "" {
		return Fault{}, fmt.Errorf("after the fault %s there is %q: it may go on with until POINT, or with a comma and dropping, or restart", f, l.rest)
	}
	return f, nil
}

// ParseFaults reads several faults with "; then " between them.
func ParseFaults(text string) ([]Fault, error) {
	var list []Fault
	l := line{rest: unfolded(text)}
	for {
		f, err := l.fault()
		if err != nil {
			return nil, err
		}
		list = append(list, f)
		if l.skip(); l.rest == "" {
			return list, nil
		}
		if !l.both(";", "then ") {
			return nil, fmt.Errorf("after the fault %s there is %q: the next one comes after \"; then \"", f, l.rest)
		}
	}
}

// FormatFaults writes the line that [ParseFaults] reads.
func FormatFaults(list []Fault) string {
	var texts []string
	for _, f := range list {
		texts = append(texts, f.String())
	}
	return strings.Join(texts, "; then ")
}

// unfolded joins the lines that a text was folded into, also within a label,
// where no line break stands for itself.
func unfolded(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, " ")
}

// line is a text that is read from its beginning.
type line struct{ rest string }

func (l *line) skip() { l.rest = strings.TrimLeftFunc(l.rest, unicode.IsSpace) }

// take reads a text that may come next, after any space. A space at the text's
// end stands for any space.
func (l *line) take(text string) bool {
	word, spaced := strings.CutSuffix(text, " ")
	rest, ok := strings.CutPrefix(strings.TrimLeftFunc(l.rest, unicode.IsSpace), word)
	if !ok {
		return false
	}
	if spaced {
		if first, _ := utf8.DecodeRuneInString(rest); rest == "" || !unicode.IsSpace(first) {
			return false
		}
	}
	l.rest = rest
	return true
}

// word reads what comes next up to a space, a comma or a semicolon.
func (l *line) word() string {
	l.skip()
	end := strings.IndexFunc(l.rest, func(r rune) bool { return unicode.IsSpace(r) || r == ',' || r == ';' })
	if end < 0 {
		end = len(l.rest)
	}
	word := l.rest[:end]
	l.rest = l.rest[end:]
	return word
}

func (l *line) fault() (f Fault, err error) {
	f.Do = Kind(l.word())
	switch f.Do {
	case Kill, Cut, Hang, Hold:
	default:
		return f, fmt.Errorf("%q is not a fault: use kill, cut, hang or hold; %s", f.Do, faultForm)
	}
	if !l.take("at ") {
		if f.On, err = parseOn(l.word()); err != nil {
			return f, fmt.Errorf("whom to %s: %w; %s", f.Do, err, faultForm)
		}
		if !l.take("at ") {
			return f, fmt.Errorf("%s says not when: %s", f.Do, faultForm)
		}
	}
	if l.take("clock ") {
		clock := l.word()
		if f.Clock, err = time.ParseDuration(clock); err != nil {
			return f, fmt.Errorf("clock %q is not a time: want clock 120ms", clock)
		}
	} else {
		p, err := l.point()
		if err != nil {
			return f, err
		}
		f.At = &p
	}
	return f, l.tail(&f)
}

// tail reads what may follow the point.
func (l *line) tail(f *Fault) error {
	if l.both(",", "dropping ") {
		for more := true; more; more = l.take("and ") {
			p, err := l.exchange()
			if err != nil {
				return err
			}
			// What is dropped was kept back at this moment.
			p.Moment = Before
			f.Drop = append(f.Drop, p)
		}
	}
	if l.take("until ") {
		p, err := l.point()
		if err != nil {
			return err
		}
		f.Until = &p
	}
	if l.both(",", "restart ") {
		return l.restart(f)
	}
	return nil
}

// both reads two texts that may come next, or neither.
func (l *line) both(first, second string) bool {
	before := l.rest
	if l.take(first) && l.take(second) {
		return true
	}
	l.rest = before
	return false
}

func (l *line) restart(f *Fault) error {
	for _, r := range []Restart{Immediately, BackendsGone, BackendsLinger, Never} {
		before, all := l.rest, true
		for word := range strings.FieldsSeq(string(r)) {
			all = all && l.word() == word
		}
		if all {
			if r != Immediately {
				f.Then.Restart = r
			}
			return nil
		}
		l.rest = before
	}
	return fmt.Errorf("restart%s: use %q, %q, %q or %q", l.rest, Immediately, BackendsGone, BackendsLinger, Never)
}

func (l *line) point() (Point, error) {
	p, err := l.exchange()
	if err != nil {
		return p, err
	}
	moment := l.word()
	switch p.Moment = Moment(moment); p.Moment {
	case Before, Unanswered, After:
		return p, nil
	}
	return p, fmt.Errorf("point %s %q #%d: the moment is before, unanswered or after, not %q", p.Link, p.Label, p.N, moment)
}

// exchange reads a point without its moment.
func (l *line) exchange() (p Point, err error) {
	p.N = 1
	if p.Link, err = ParseLink(l.word()); err != nil {
		return p, err
	}
	l.skip()
	quoted, err := strconv.QuotedPrefix(l.rest)
	if err != nil || quoted[0] != '"' {
		return p, fmt.Errorf("after %s comes the label in double quotes: %s", p.Link, faultForm)
	}
	if p.Label, err = strconv.Unquote(quoted); err != nil || p.Label == "" {
		return p, fmt.Errorf("the label %s after %s cannot be read: %s", quoted, p.Link, faultForm)
	}
	l.rest = l.rest[len(quoted):]
	if !l.take("#") {
		return p, nil
	}
	number := l.word()
	if p.N, err = strconv.Atoi(number); err != nil || p.N < 1 {
		return p, fmt.Errorf("point %s %q: the occurrence #%s is not a whole number from 1", p.Link, p.Label, number)
	}
	return p, nil
}

// parseOn reads whom a fault names: an instance, or a link.
func parseOn(text string) (l Link, err error) {
	if strings.Contains(text, "/") {
		return ParseLink(text)
	}
	l.Instance, err = ParseInstance(text)
	return l, err
}
