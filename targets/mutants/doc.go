// Package mutants holds targets with exactly one seeded bug each, of the kind
// that people really write. A mutant's folder has one file: a copy of one file
// of the reference with at most ten lines changed. Everything else, its
// manifest and its schema among it, is the reference's own, so that a harness
// that tells them apart can only have seen the bug.
//
// No text that a mutant can emit names it. They are listed in targets/builtin,
// where each runs under a neutral name.
package mutants
