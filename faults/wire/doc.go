// Package wire puts the links of a trial behind Toxiproxy, embedded as a
// library, and makes faults happen on them.
//
// A [Board] has one proxy for each link and, in each, one toxic of ours a
// direction. The toxic keeps the bytes of a connection until a codec (a
// [frame.Conversation]) has found the end of the next frame and told what it
// means, gives the exchange its label and its number, matches it against the
// armed faults, and only then lets it pass, unchanged. All of that happens
// under one lock, so that what is observed is in one total order, and what is
// observed as passed before a fault fired did pass, and nothing after it.
//
// The files, from the outside in: board.go (the door), link.go and toxic.go
// (Toxiproxy), conn.go, half.go and frames.go (one connection, one direction,
// its frames), match.go (numbers and points, pure), fire.go and clock.go
// (faults), observe.go and status.go (what is told).
package wire
