// Package builtin lists the targets that come with the harness: the references,
// which must pass, and the mutants, each of which must be caught by the
// property named for it.
package builtin

import "github.com/outboxtest/outboxtest/targets"

// Builtin is a target that is part of the harness.
type Builtin struct {
	// Name is how a person and a scenario file call it: save-then-send.
	Name string
	// Code is a neutral name. It is the name in Target, so that nothing that
	// runs or judges the target can tell which one it is.
	Code   string
	Target targets.Target
	// Expected is the property that must convict it; empty for a reference.
	Expected string
	// Family is the name of the reference that it is, or differs from.
	Family string
	// About says in one line what it does, and for a mutant what is wrong.
	About string
}

// All returns each reference with its mutants behind it. Each Builtin is the
// caller's own.
func All() []Builtin {
	var all []Builtin
	for _, e := range entries() {
		t := e.reference()
		family := t.Name
		t.Name, t.Ref = e.code, e.name
		if e.role != "" {
			t.Go[e.role] = e.run
			// No bug of theirs needs a second relay, and none may hide it.
			t.Relay.Replicas = 1
		}
		all = append(all, Builtin{Name: e.name, Code: e.code, Target: t, Family: family, Expected: e.expected, About: e.about})
	}
	return all
}

// Find returns the built-in target of a name.
func Find(name string) (Builtin, bool) {
	for _, b := range All() {
		if b.Name == name {
			return b, true
		}
	}
	return Builtin{}, false
}
