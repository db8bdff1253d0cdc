// Package harness tests a transactional outbox for what happens to its events
// when processes die and connections break.
//
// It has two doors. [Run] takes a target and returns a result; it needs no
// testing package. [Test] is the thin one for go test:
//
//	func TestMain(m *testing.M) { harness.Main(m, target()) }
//
//	func TestOutbox(t *testing.T) { harness.Test(t, target(), harness.Options{}) }
//
// A failure is one: what is reported comes with its evidence and a scenario
// file that replays it. A pass is no proof: it says that every crash point of
// the recorded runs was visited and nothing was lost, made up, or applied
// twice there.
package harness
