// Package parts holds what the roles of the polling outbox are built from and
// what its mutants share with it unchanged: connections, the loop that keeps
// them alive, the stdio protocol, and the event itself. The decisions that make
// an outbox right or wrong are not here but in app.go, relay.go and consumer.go.
package parts
