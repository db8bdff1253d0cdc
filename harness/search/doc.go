// Package search decides which trials are worth executing. It records
// fault-free runs, lists every exchange that they show, derives the cells (a
// point and a fault) that a single crash or a broken connection could reach,
// leaves out what cannot matter and says so, and executes the rest on as many
// jobs as there are. It also draws random scenarios (explore), makes a failing one
// smaller ([Shrink]), and proposes how to bring a schedule back ([Holds]).
//
// All but [Each] is pure: cells, second faults and holds are functions of a
// history, draws of a seed and a number.
package search
