package scenario

import (
	"reflect"
	"strings"
	"testing"
)

const chain = `version: 1
target: polling
workload: [{place: {order: o1}}]
segments:
  - workload: [{place: {order: o2}}]
    faults: [{at: 'relay.0/broker "publish" #1 before', do: cut}]
  - pace: batch
    workload: [{place: {order: o3}}, {abort: {order: x1}}]
`

func TestSegmentsRoundTrip(t *testing.T) {
	s, err := Parse([]byte(chain))
	if err != nil {
		t.Fatal(err)
	}
	text, err := Format(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(text)
	if err != nil || !reflect.DeepEqual(s, again) {
		t.Errorf("%v\n%s", err, text)
	}
	placed, aborted := s.Orders()
	if len(placed) != 3 || len(aborted) != 1 || len(s.AllFaults()) != 1 || len(s.Calm().AllFaults()) != 0 {
		t.Errorf("orders %v, aborted %v, faults %v", placed, aborted, s.AllFaults())
	}
	if !s.Segments[1].Workload[1].Has("x1") || s.Segments[1].Workload[1].Has("") {
		t.Error("a step does not know its order")
	}
}

func TestSegmentsAreRefusedByNumber(t *testing.T) {
	for was, is := range map[string]string{
		"order: o3":    "order: o2",
		"pace: batch":  "pace: slow",
		"order: x1":    "order: 'x 1'",
		"do: cut}":     "do: burn}",
		"{abort: {ord": "{abort: {odr",
	} {
		_, err := Parse([]byte(strings.Replace(chain, was, is, 1)))
		if err == nil {
			t.Errorf("%s is taken", is)
		} else if !strings.Contains(err.Error(), "segment") && !strings.Contains(err.Error(), "odr") {
			t.Errorf("%s: %v", is, err)
		}
	}
}
