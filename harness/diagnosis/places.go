package diagnosis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/targets"
)

// place is a value of a message and the rule that finds it.
type place struct{ rule, name, value string }

// mostPlaces bounds how many are proposed, and mostDepth how deep a body is looked
// into.
const (
	mostPlaces = 3
	mostDepth  = 8
)

// orderPlaces are the rules that find the order, those by its token before those by
// its row's own id, which another number may be by chance.
func (x *sight) orderPlaces(m Message) []string {
	finder := targets.FindOrders([]string{x.order})
	var byToken, byID []string
	for _, p := range placesOf(m, x.m.Event.Each) {
		token, err := finder.Find(p.value)
		switch {
		case err == nil && token == x.order:
			byToken = once(byToken, p.rule)
		case x.names(p.value):
			byID = once(byID, p.rule)
		}
	}
	all := append(byToken, byID...)
	return all[:min(len(all), mostPlaces)]
}

var aUUID = regexp.MustCompile(`(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$`)

// idPlaces are the rules that find what may be the event's id: what is called one,
// before what looks like one.
func idPlaces(m Message, rules targets.EventRules) []string {
	var called, looks []string
	for _, p := range placesOf(m, rules.Each) {
		name := strings.Trim(strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(p.name)), " ")
		switch {
		case p.rule == rules.Order:
		case strings.Contains(name, "eventid"), strings.Contains(name, "messageid"), strings.Contains(name, "msgid"), name == "id":
			called = once(called, p.rule)
		case aUUID.MatchString(p.value):
			looks = once(looks, p.rule)
		}
	}
	all := append(called, looks...)
	return all[:min(len(all), mostPlaces)]
}

// placesOf are the values of a message: its headers, and what its body holds. Where
// a message holds several events, body is that of the first.
func placesOf(m Message, each string) []place {
	var list []place
	for _, name := range slices.Sorted(maps.Keys(m.Header)) {
		for _, value := range m.Header[name] {
			list = append(list, place{"header:" + name, name, value})
		}
	}
	if each == "" {
		read := len(list)
		if list = walk(list, "body:$", "", m.Body, 0); len(list) == read && len(m.Body) > 0 {
			list = append(list, place{"body", "body", string(m.Body)})
		}
	}
	list = append(list, place{"subject", "subject", m.Subject})
	return list
}

// walk appends the scalar values of a JSON text.
func walk(list []place, rule, name string, text []byte, depth int) []place {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document any
	if decoder.Decode(&document) != nil || decoder.More() {
		return list
	}
	return walkValue(list, rule, name, document, depth)
}

func walkValue(list []place, rule, name string, value any, depth int) []place {
	if depth > mostDepth {
		return list
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = walkValue(list, rule+member(key), key, v[key], depth+1)
		}
	case []any:
		for i, element := range v {
			list = walkValue(list, fmt.Sprintf("%s[%d]", rule, i), name, element, depth+1)
		}
	case json.Number:
		list = append(list, place{rule, name, v.String()})
	case string:
		// A text that holds JSON is looked into by the rules, too.
		if text := strings.TrimSpace(v); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
			if inner := walk(nil, rule, name, []byte(text), depth+1); len(inner) > 0 {
				return append(list, inner...)
			}
		}
		list = append(list, place{rule, name, v})
	}
	return list
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// member is how a path goes on to a key.
func member(key string) string {
	if plainName.MatchString(key) {
		return "." + key
	}
	return fmt.Sprintf("[%q]", key)
}

// headerText is what headers hold, on one line.
func headerText(header map[string][]string) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(header)) {
		texts = append(texts, name+": "+strings.Join(header[name], ", "))
	}
	return strings.Join(texts, "; ")
}
