// Package diagnosis tells from what one calm trial showed how far a target came on
// its way from an order to its first effect, what kept it from coming further, and
// what to change; and what may be told of its pace. It holds no I/O.
package diagnosis
