// Package properties is the history of a trial and the rules that judge it.
//
// A history is everything that was observed in one trial, in one total order:
// what was asked of the app and what it answered, what passed on each link,
// what the faults did, how the wait for the outbox ended, and the readings of
// the ledgers. [Read] and [Write] keep it as JSON lines. [Judge] is pure: it
// says of a history what it said yesterday, on any machine, without servers.
//
// # The rules of soundness
//
// We may miss a bug, but what we report is one:
//
//   - The checker checks itself first. A history that breaks its own
//     assumptions (a ledger that was not read, an answer to nothing, a reply to
//     no request) is unknown, with the reason; so is a rule that panics.
//   - Fail beats unknown beats pass.
//   - The ledgers and the wire decide. An app's answer, ok or failed, decides
//     neither about a loss nor about a ghost.
//   - A loss is declared from evidence. A missing event is a violation only
//     when every fault was healed, everything that must run did, and either
//     nothing was pending or ten times the promised drain, polls and time, was
//     spent in good health, all of it after the order is known to have been
//     committed.
//   - The wire is a ledger too. What the broker acknowledged and no longer
//     holds is the broker's loss, never the relay's.
//   - An event is a ghost when its order is in no committed reading of the
//     whole trial and no commit can have carried it: none completed on an app
//     link while the order was being placed, and none was delivered there
//     without its end being seen. A row that is archived or deleted later makes
//     no ghost.
//   - What cannot be read convicts nobody: an opaque link, a message without an
//     order, a connection past the proxies each turn a verdict that would hang
//     on it into unknown.
//   - A pass must be earned ([Earned]): a fault-free run with empty ledgers,
//     bypassed proxies or unread events is unknown. A planned fault that did
//     not fire is never a pass.
//
// This package imports no other room of the project.
package properties
