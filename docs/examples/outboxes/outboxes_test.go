// Package outboxes_test keeps the manifests of the examples sound.
package outboxes_test

import (
	"path/filepath"
	"testing"

	"github.com/outboxtest/outboxtest/targets"
)

func TestManifestsAreSound(t *testing.T) {
	list, err := filepath.Glob("*/manifest.yaml")
	if err != nil || len(list) < 12 {
		t.Fatalf("%d manifests were found (%v)", len(list), err)
	}
	for _, path := range list {
		if _, err := targets.Load(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}
