// Package trial executes one scenario against one target: it starts the roles
// behind proxies of their own, drives the workload, lets the faults fire,
// waits on evidence until the outbox has drained, reads the three ledgers and
// returns everything as one history. It judges nothing.
//
// A [Job] is a stack and a template database; it executes one trial after
// another, each on a fresh database and a fresh stream.
package trial
