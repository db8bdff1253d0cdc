// Package capture has what a relay that publishes by change data capture is made
// of: the slot, the stream of its transactions, and the table that they write. When
// the slot is made, and when a position is confirmed, the relay decides.
package capture
