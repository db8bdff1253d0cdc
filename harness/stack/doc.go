// Package stack gives a job its servers: one Postgres and one broker, each with
// its life and its ledger.
//
// [Start] starts both, or connects to those given by URL, and [Stack.Close] drops
// what it made and stops what it started. Within a stack trials follow each
// other, each on a fresh [Database] made from the template and on a fresh
// [Stream]. The ledgers are read on direct connections, never through the
// proxies of a trial.
//
// A server that the stack started is its own: it can be killed and started again
// on the same port and the same data. A server given by URL is not touched beyond
// what has our name: databases outboxtest_RUN_N and streams of the same form.
//
// Everything that could outlive us is registered with the guard before it is
// made, by the kinds of [Undo].
package stack
