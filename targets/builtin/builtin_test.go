package builtin

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/reference/cdc"
	"github.com/outboxtest/outboxtest/targets/reference/polling"
)

func TestAll(t *testing.T) {
	want := []struct{ name, expected, family string }{
		{"polling", "", "polling"},
		{"save-then-send", "no-lost-event", "polling"},
		{"send-then-save", "no-ghost-event", "polling"},
		{"send-inside-transaction", "no-ghost-event", "polling"},
		{"mark-before-publish", "no-lost-event", "polling"},
		{"last-id-cursor", "no-lost-event", "polling"},
		{"retry-in-memory", "no-lost-event", "polling"},
		{"publish-without-ack", "no-lost-event", "polling"},
		{"dedupe-shared-between-consumers", "applied-once", "polling"},
		{"dedupe-on-broker-id", "applied-once", "polling"},
		{"effect-outside-dedupe-transaction", "applied-once", "polling"},
		{"cdc", "", "cdc"},
		{"cdc-orders", "", "cdc-orders"},
		{"confirm-while-publishing", "no-lost-event", "cdc"},
		{"confirm-inside-transaction", "no-lost-event", "cdc"},
		{"slot-made-anew", "no-lost-event", "cdc"},
	}
	all := All()
	if len(all) != len(want) {
		t.Fatalf("there are %d, want %d", len(all), len(want))
	}
	neutral := regexp.MustCompile(`^outbox-\d\d$`)
	codes := map[string]string{}
	for i, b := range all {
		if b.Name != want[i].name || b.Expected != want[i].expected || b.Family != want[i].family {
			t.Errorf("%d is %s of %s, convicted by %q; want %s of %s by %q", i, b.Name, b.Family, b.Expected, want[i].name, want[i].family, want[i].expected)
		}
		if err := b.Target.Validate(); err != nil {
			t.Error(err)
		}
		if !neutral.MatchString(b.Code) {
			t.Errorf("%s runs as %q, which is not neutral", b.Name, b.Code)
		}
		if other, taken := codes[b.Code]; taken {
			t.Errorf("%s and %s both run as %s", other, b.Name, b.Code)
		}
		codes[b.Code] = b.Name
		if b.Target.Name != b.Code || b.Target.Ref != b.Name || b.About == "" {
			t.Errorf("%s: %+v", b.Name, b)
		}
		if strings.Contains(b.About, "\n") {
			t.Errorf("%s is described in more than one line", b.Name)
		}
		found, ok := Find(b.Name)
		if !ok || found.Code != b.Code {
			t.Errorf("Find(%q): %v, %v", b.Name, found.Code, ok)
		}
	}
	if _, ok := Find("nothing"); ok {
		t.Error("it found nothing, and says so")
	}
}

// TestOnlyWhatIsStartedDiffers: a mutant differs from its reference in one
// function, and in nothing that the harness reads.
func TestOnlyWhatIsStartedDiffers(t *testing.T) {
	references := map[string]targets.Target{}
	for _, reference := range []targets.Target{polling.Target(), cdc.Target(), cdc.OrdersTarget()} {
		references[reference.Name] = reference
	}
	function := func(t targets.Target, role string) uintptr { return reflect.ValueOf(t.Go[role]).Pointer() }
	seen := map[uintptr]string{}
	for _, b := range All() {
		reference := references[b.Family]
		manifest := b.Target.Manifest
		manifest.Name = reference.Name
		if b.Expected != "" && manifest.Relay.Replicas != 1 {
			t.Errorf("%s has %d relays, of which none may hide its bug", b.Name, manifest.Relay.Replicas)
		}
		manifest.Relay.Replicas = reference.Relay.Replicas
		if !reflect.DeepEqual(manifest, reference.Manifest) || !reflect.DeepEqual(b.Target.SchemaSQL, reference.SchemaSQL) {
			t.Errorf("the manifest or the schema of %s differs", b.Name)
		}
		differ := 0
		for role := range reference.Go {
			if f := function(b.Target, role); f != function(reference, role) {
				differ++
				if other, taken := seen[f]; taken {
					t.Errorf("%s and %s run the same function", other, b.Name)
				}
				seen[f] = b.Name
			}
		}
		if mutant := b.Expected != ""; len(b.Target.Go) != 3 || (differ != 0) != mutant || differ > 1 {
			t.Errorf("%s: %d of %d functions differ", b.Name, differ, len(b.Target.Go))
		}
	}
}
