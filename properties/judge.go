package properties

import (
	"fmt"
	"slices"
)

// Verdict is pass, fail or unknown. Fail beats unknown beats pass.
type Verdict string

// The verdicts.
const (
	Pass          Verdict = "pass"
	Fail          Verdict = "fail"
	UnknownResult Verdict = "unknown"
)

// Worse returns the verdict that counts when both were reached.
func (v Verdict) Worse(other Verdict) Verdict {
	for _, w := range []Verdict{Fail, UnknownResult} {
		if v == w || other == w {
			return w
		}
	}
	return Pass
}

// Violation is one proof that a property does not hold.
type Violation struct {
	// Summary is one deterministic sentence: no ids, ports or times in it.
	Summary string `json:"summary"`
	// Order is the order's token, empty when none could be read.
	Order    string `json:"order,omitempty"`
	EventID  string `json:"event_id,omitempty"`
	Consumer string `json:"consumer,omitempty"`
	// Evidence is what a person reads to believe it, a line each, in order.
	Evidence []string `json:"evidence"`
}

// Result is what one property says of one history.
type Result struct {
	Property string  `json:"name"`
	Claimed  bool    `json:"claimed"`
	Verdict  Verdict `json:"verdict"`
	// Why explains unknown.
	Why        []string    `json:"why,omitempty"`
	Violations []Violation `json:"violations,omitempty"`
}

// Judgement is what all properties say of one history.
type Judgement struct {
	Verdict Verdict  `json:"verdict"`
	Results []Result `json:"results"`
	// Why lists the reasons for unknown that belong to no single property: the
	// history breaks its own assumptions, or a pass was not earned.
	Why []string `json:"why,omitempty"`
	// Blame says whose fault it is that something is missing, when it is not the
	// target's: a broker that no longer holds what it had acknowledged.
	Blame string `json:"blame,omitempty"`
}

// Judge says what every property says of the history. It is pure, accepts any
// events, and never panics: what it cannot judge is unknown, with the reason.
func Judge(h []Event) Judgement {
	rules := All()
	broken := checkItself(h)
	if len(broken) > 0 {
		return unjudged(h, rules, broken)
	}
	var ix *index
	if why := guard("arranging the history", func() { ix = newIndex(h) }); why != "" {
		return unjudged(h, rules, []string{why})
	}
	j := Judgement{Verdict: Pass}
	for _, rule := range rules {
		r := judgeRule(ix, rule)
		j.Results = append(j.Results, r)
		if r.Claimed {
			j.Verdict = j.Verdict.Worse(r.Verdict)
		}
	}
	j.Results = append(j.Results, unruled(h)...)
	for _, r := range j.Results[len(rules):] {
		j.Verdict = j.Verdict.Worse(r.Verdict)
	}
	if why := guard("asking whether a pass was earned", func() { j.Why = ix.unearned() }); why != "" {
		j.Why = append(j.Why, why)
	}
	if why := guard("asking who is to blame", func() { j.Blame = ix.blame() }); why != "" {
		j.Why = append(j.Why, why)
	}
	if len(j.Why) > 0 {
		j.Verdict = j.Verdict.Worse(UnknownResult)
	}
	return j
}

func judgeRule(ix *index, rule Rule) Result {
	r := Result{Property: rule.Name, Claimed: claimed(ix.h, rule), Verdict: Pass}
	var f finding
	if why := guard("judging "+rule.Name, func() { f = rule.judge(ix) }); why != "" {
		f = finding{why: []string{why}}
	}
	r.Why, r.Violations = f.why, f.violations
	if len(r.Why) > 0 {
		r.Verdict = UnknownResult
	}
	if len(r.Violations) > 0 {
		r.Verdict = Fail
	}
	return r
}

// unjudged is the judgement of a history that breaks its own assumptions:
// every property is unknown.
func unjudged(h []Event, rules []Rule, broken []string) Judgement {
	j := Judgement{Verdict: UnknownResult, Why: broken}
	for _, rule := range rules {
		j.Results = append(j.Results, Result{
			Property: rule.Name, Claimed: claimed(h, rule), Verdict: UnknownResult,
			Why: []string{"the history breaks its own assumptions"},
		})
	}
	return j
}

// unruled are claims that no rule judges: they are never passed over.
func unruled(h []Event) []Result {
	var results []Result
	for _, claim := range h[0].Trial.Claims {
		if slices.ContainsFunc(All(), func(r Rule) bool { return r.Name == claim }) ||
			slices.ContainsFunc(results, func(r Result) bool { return r.Property == claim }) {
			continue
		}
		results = append(results, Result{
			Property: claim, Claimed: true, Verdict: UnknownResult,
			Why: []string{"no rule judges this claim; `outboxtest list` names the properties that can be claimed"},
		})
	}
	return results
}

func claimed(h []Event, rule Rule) bool {
	return rule.Always || len(h) > 0 && h[0].Trial != nil && slices.Contains(h[0].Trial.Claims, rule.Name)
}

func checkItself(h []Event) (broken []string) {
	if why := guard("checking the history", func() { broken = validate(h) }); why != "" {
		broken = append(broken, why)
	}
	return broken
}

// guard runs do and turns a panic into a reason: a checker that crashes has
// proved nothing.
func guard(what string, do func()) (why string) {
	defer func() {
		if p := recover(); p != nil {
			why = fmt.Sprintf("%s failed, which is a defect of outboxtest: %v", what, p)
		}
	}()
	do()
	return ""
}
