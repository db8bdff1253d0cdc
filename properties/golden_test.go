package properties

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "record the histories of the cases again, and rewrite what is said of every recorded history")

// recorded cases have their histories kept in testdata, so that later checkers
// judge them again: every conviction, and acquittals that were hard won.
func recorded(c judgedCase) bool {
	return c.verdict == Fail || slices.Contains([]string{
		"complete",
		"missing and the broker acknowledged it",
		"missing and unhealthy",
		"missing and the promise ran out in a stall",
		"commit answered and its reply lost",
		"commit delivered and its end unseen",
		"row deleted after publishing under a fault",
		"order rolled back by the business",
		"repeat within the batch in flight",
		"not applied and waiting",
		"not applied and gone from the log",
		"refused and not claimed",
		"refused with its own database cut off",
		"two events in one message",
		"accepted and committed after a death",
	}, c.name)
}

func render(j Judgement) string {
	var b strings.Builder
	fmt.Fprintf(&b, "verdict: %s\n", j.Verdict)
	if j.Blame != "" {
		fmt.Fprintf(&b, "  to blame: %s\n", j.Blame)
	}
	for _, why := range j.Why {
		fmt.Fprintf(&b, "  why: %s\n", why)
	}
	for _, r := range j.Results {
		fmt.Fprintf(&b, "%s: %s", r.Property, r.Verdict)
		if !r.Claimed {
			b.WriteString(" (information)")
		}
		b.WriteString("\n")
		for _, why := range r.Why {
			fmt.Fprintf(&b, "  why: %s\n", why)
		}
		for _, v := range r.Violations {
			fmt.Fprintf(&b, "  %s\n", v.Summary)
			for _, line := range v.Evidence {
				fmt.Fprintf(&b, "    %s\n", line)
			}
		}
	}
	return b.String()
}

// TestRecorded judges every history of testdata again, also those that no case
// writes any more. Run with -update after a change that is meant.
func TestRecorded(t *testing.T) {
	written := map[string]Verdict{}
	for _, c := range cases() {
		if !recorded(c) {
			continue
		}
		file := filepath.Join("testdata", strings.ReplaceAll(strings.ReplaceAll(c.name, ",", ""), " ", "-")+".jsonl")
		written[file] = c.verdict
		if *update {
			if err := os.WriteFile(file, []byte(text(t, c.history())), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for file := range written {
		if !slices.Contains(files, file) {
			t.Errorf("%s is missing; run with -update", file)
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h, err := Read(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			j := Judge(h)
			if want, ok := written[file]; ok && j.Verdict != want {
				t.Errorf("verdict %s, want %s", j.Verdict, want)
			}
			golden := strings.TrimSuffix(file, ".jsonl") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(render(j)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got := render(j); got != string(want) {
				t.Errorf("it is said otherwise (-update rewrites):\n%s\nbefore:\n%s", got, want)
			}
		})
	}
}
