package report

import (
	"bytes"
	"testing"

	"github.com/outboxtest/outboxtest/properties"
)

func TestOutcomes(t *testing.T) {
	missed := passed()
	missed.Target, missed.Expected, missed.ExpectedProperty = "send-then-save", properties.Fail, "no-ghost-event"

	byAnother := convicted()
	byAnother.Target, byAnother.ExpectedProperty = "send-inside-transaction", "no-ghost-event"

	convictedReference := convicted()
	convictedReference.Target, convictedReference.Expected, convictedReference.ExpectedProperty = "polling", properties.Pass, ""

	undecided := unknown()
	undecided.Expected = properties.Pass

	undecidedMutant := unknown()
	undecidedMutant.Expected, undecidedMutant.ExpectedProperty = properties.Fail, "no-lost-event"

	// A property that the mutant does not claim convicts nobody.
	unclaimed := passed()
	unclaimed.Expected, unclaimed.ExpectedProperty = properties.Fail, "writes-survive-broker-outage"
	unclaimed.Properties[2].Verdict = properties.Fail
	unclaimed.Properties[2].Violations = []Violation{{Summary: "refused"}}

	for _, c := range []struct {
		name    string
		result  Result
		want    Outcome
		verdict properties.Verdict
	}{
		{"a reference that passes", passed(), Acquitted, properties.Pass},
		{"a mutant that is caught", convicted(), Caught, properties.Pass},
		{"a mutant that passes", missed, Missed, properties.Fail},
		{"a mutant convicted by another property alone", byAnother, Wrong, properties.Fail},
		{"a reference that is convicted", convictedReference, Wrong, properties.Fail},
		{"a reference that is unknown", undecided, Undecided, properties.UnknownResult},
		{"a mutant that is unknown", undecidedMutant, Undecided, properties.UnknownResult},
		{"a mutant whose property is not claimed", unclaimed, Missed, properties.Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := OutcomeOf(c.result); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			d := Demo{Targets: []Result{passed(), c.result}}
			if d.Judge(); d.Verdict != c.verdict {
				t.Errorf("the demo's verdict is %s, want %s", d.Verdict, c.verdict)
			}
		})
	}
}

func TestWriteDemo(t *testing.T) {
	missed := passed()
	missed.Target, missed.Expected, missed.ExpectedProperty = "send-then-save", properties.Fail, "no-ghost-event"
	wrong := convicted()
	wrong.Target, wrong.ExpectedProperty = "effect-outside-dedupe-transaction", "applied-once"
	faultless := convicted()
	faultless.Target = "last-id-cursor"
	faultless.Properties[0].Violations = faultless.Properties[0].Violations[2:]
	d := Demo{Version: Version, Seconds: 58.61, Targets: []Result{passed(), convicted(), faultless, missed, wrong, unknown()}}
	d.Judge()
	for name, color := range map[string]bool{"demo": false, "demo-in-colour": true} {
		var b bytes.Buffer
		if err := WriteDemo(&b, d, color); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
		if !color {
			narrow(t, b.String())
		}
	}
}
