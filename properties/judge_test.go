package properties

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func reasons(j Judgement) []string {
	all := slices.Clone(j.Why)
	for _, r := range j.Results {
		all = append(all, r.Why...)
	}
	return all
}

func summaries(j Judgement) []string {
	var all []string
	for _, r := range j.Results {
		for _, v := range r.Violations {
			all = append(all, v.Summary)
		}
	}
	return all
}

func has(lines []string, part string) bool {
	return slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, part) })
}

func TestJudge(t *testing.T) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			j := Judge(c.history())
			if j.Verdict != c.verdict {
				t.Errorf("verdict %s, want %s", j.Verdict, c.verdict)
			}
			want := map[string]Verdict{NoLostEvent: c.lost, NoGhostEvent: c.ghost, AppliedOnce: c.applied, WritesSurviveBrokerOutages: c.outage}
			for _, r := range j.Results {
				w, ruled := want[r.Property]
				if w == "" {
					w = Pass
				}
				if ruled && r.Verdict != w {
					t.Errorf("%s is %s, want %s", r.Property, r.Verdict, w)
				}
				for _, v := range r.Violations {
					if len(v.Evidence) == 0 {
						t.Errorf("%q has no evidence", v.Summary)
					}
				}
			}
			if !has(reasons(j), c.why) && c.why != "" {
				t.Errorf("no reason says %q", c.why)
			}
			if !has(summaries(j), c.summary) && c.summary != "" {
				t.Errorf("no violation says %q", c.summary)
			}
			if !strings.Contains(j.Blame, c.blame) || c.blame == "" && j.Blame != "" {
				t.Errorf("blames %q, want %q", j.Blame, c.blame)
			}
			if t.Failed() {
				t.Logf("reasons: %q\nsummaries: %q", reasons(j), summaries(j))
			}
		})
	}
}

// The same history told at another time, on other connections and with other
// ids is summarised in the same words: shrinking depends on it.
func TestSummariesAreDeterministic(t *testing.T) {
	for _, c := range cases() {
		h := c.history()
		first := Judge(h)
		for i := range h {
			h[i].At += 7 * time.Millisecond
			if s := h[i].Stall; s != nil {
				s.From += 7 * time.Millisecond
			}
			if w := h[i].Wire; w != nil {
				w.Conn += 40
				w.Position *= 7
			}
			if l := h[i].Ledger; l != nil {
				for k := range l.Log {
					l.Log[k].Position *= 7
				}
			}
		}
		if again := Judge(h); !slices.Equal(summaries(first), summaries(again)) {
			t.Errorf("%s: %q, then %q", c.name, summaries(first), summaries(again))
		}
	}
}
