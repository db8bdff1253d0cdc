// Package search decides which trials are worth executing. It records
// fault-free runs, lists every exchange that they show, derives the cells (a
// point and a fault) that a single crash or a broken connection could reach,
// leaves out what cannot matter and says so, and executes the rest on as many
// jobs as there are. It also draws random scenarios (explore).
//
// The derivation is pure: [Cells] is a function of a history.
package search
