package properties

// The names of the properties that this package judges.
const (
	NoLostEvent                = "no-lost-event"
	NoGhostEvent               = "no-ghost-event"
	AppliedOnce                = "applied-once"
	WritesSurviveBrokerOutages = "writes-survive-broker-outage"
)

// Rule is one property and the way to judge a history by it.
type Rule struct {
	Name string
	// About explains the property in one paragraph.
	About string
	// Always tells that every outbox must keep it. The others count when the
	// target claims them, and are information when it does not.
	Always bool

	judge func(*index) finding
}

// finding is what a rule found: proofs, and reasons why it cannot say more.
type finding struct {
	violations []Violation
	why        []string
}

func (f *finding) unknown(why string) {
	for _, w := range f.why {
		if w == why {
			return
		}
	}
	f.why = append(f.why, why)
}

// All returns the rules, in the order in which they are reported.
func All() []Rule {
	return []Rule{noLostEvent(), noGhostEvent(), appliedOnce(), writesSurviveBrokerOutage()}
}
