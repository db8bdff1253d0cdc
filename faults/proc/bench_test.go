//go:build linux

package proc

import "testing"

func BenchmarkStartAndKill(b *testing.B) {
	for b.Loop() {
		p, err := Start(b.Context(), Spec{Name: "x", Argv: []string{"/bin/sleep", "1000"}})
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Kill(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSweep(b *testing.B) {
	for b.Loop() {
		sweep(hunt{group: 1 << 30, marker: "OUTBOXTEST_PROCESS=nobody"})
	}
}
