// Package faults is the vocabulary of what can go wrong: a [Fault] is done at
// a [Point], which is a [Moment] of one exchange on one [Link], or at a time on
// the clock. It is plain data with one spelling, used in scenario files, on the
// command line, in histories and in reports.
//
// The rooms below make faults happen: [github.com/outboxtest/outboxtest/faults/wire]
// on the connections, [github.com/outboxtest/outboxtest/faults/proc] on the
// processes. This package imports neither.
package faults
