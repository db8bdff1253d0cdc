package targets

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// condition is one comparison of a when rule.
type condition struct {
	left  rule
	not   bool
	right string
}

// conditions are a compiled when rule: all of them have to hold.
type conditions []condition

const (
	conditionForm = `write RULE == VALUE or RULE != VALUE, such as body:$.type == OrderPlaced, and " and " between several`
	and           = " and "
)

// compileConditions reads comparisons with "and" between them. An "and" that no
// comparison follows is part of the value before it.
func compileConditions(text string) (conditions, error) {
	var list conditions
	for rest, more := text, true; more; {
		var one string
		one, rest, more = cutAnd(rest)
		c, err := compileCondition(one)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// cutAnd cuts at the first "and" outside of quotes behind which a field rule
// begins.
func cutAnd(text string) (before, after string, more bool) {
	for i := 0; i < len(text); i++ {
		if rest, ok := strings.CutPrefix(text[i:], and); ok && beginsRule(rest) {
			return text[:i], rest, true
		}
		if text[i] == '"' {
			if quoted, err := strconv.QuotedPrefix(text[i:]); err == nil {
				i += len(quoted) - 1
			}
		}
	}
	return text, "", false
}

func beginsRule(text string) bool {
	text = strings.TrimSpace(text)
	for _, prefix := range []string{"header:", "body:"} {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	word, rest, _ := strings.Cut(text, " ")
	for _, operator := range []string{"==", "!="} {
		bare, _, glued := strings.Cut(word, operator)
		if _, err := compileField(bare); err == nil && (glued || strings.HasPrefix(strings.TrimSpace(rest), operator)) {
			return true
		}
	}
	return false
}

func compileCondition(text string) (condition, error) {
	left, right, ok := cutOutside(text, "==")
	var c condition
	if other, unequal, found := cutOutside(text, "!="); found && (!ok || len(other) < len(left)) {
		c.not, left, right, ok = true, other, unequal, true
	}
	if !ok {
		return condition{}, fmt.Errorf("%s is no condition; %s", bounded(text), conditionForm)
	}
	var err error
	if c.left, err = compileField(strings.TrimSpace(left)); err != nil {
		return condition{}, err
	}
	right = strings.TrimSpace(right)
	if strings.HasPrefix(right, `"`) {
		if right, err = strconv.Unquote(right); err != nil {
			return condition{}, fmt.Errorf("%s: the quotes do not close; %s", bounded(text), conditionForm)
		}
	}
	if right == "" {
		return condition{}, fmt.Errorf("%s compares with nothing; %s", bounded(text), conditionForm)
	}
	c.right = right
	return c, nil
}

// hold tells whether all hold. A body that cannot be read leaves it open whether
// the message is an event, which is an error, unless a condition before it
// already says no.
func (list conditions) hold(m *message) (bool, error) {
	for _, c := range list {
		if is, err := c.holds(m); err != nil || !is {
			return false, err
		}
	}
	return true, nil
}

// holds takes a field that is not there for different from every value.
func (c condition) holds(m *message) (bool, error) {
	value, err := c.left.find(m)
	if errors.Is(err, errAbsent) {
		return c.not, nil
	}
	if err != nil {
		return false, err
	}
	return (value == c.right) != c.not, nil
}

// aboutMessage are the conditions on what all events of a message share.
func (list conditions) aboutMessage() conditions {
	var shared conditions
	for _, c := range list {
		if c.left.source != fromBody && c.left.source != fromPath {
			shared = append(shared, c)
		}
	}
	return shared
}
