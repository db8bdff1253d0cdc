package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/builtin"
)

// findTarget reads what a user calls a target: the name of a built-in, or the
// path of a manifest.
func findTarget(name string) (targets.Target, error) {
	if b, ok := builtin.Find(name); ok {
		return b.Target, nil
	}
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return targets.Target{}, badInput("%s is a folder: name the manifest in it, such as %s/outbox.yaml", name, strings.TrimRight(name, "/"))
	case err == nil:
		return load(name)
	case strings.ContainsAny(name, `./\`):
		return targets.Target{}, badInput("there is no manifest %s; docs/manifest.md says what one looks like", name)
	}
	return targets.Target{}, badInput("%q is neither a built-in target nor a manifest\n%s\n  a manifest is named by its path: ./%s.yaml",
		name, strings.Join(report.Fold("  ", "built in: "+strings.Join(builtinNames(), ", ")), "\n"), name)
}

func load(path string) (targets.Target, error) {
	t, err := targets.Load(path)
	if err == nil {
		// A scenario file tells a path from a built-in's name by its dots and
		// slashes.
		if !strings.ContainsAny(t.Ref, `./\`) {
			t.Ref = "./" + t.Ref
		}
		return t, nil
	}
	var problems targets.Problems
	if errors.As(err, &problems) {
		return t, fmt.Errorf("the manifest is not sound:\n%w", err)
	}
	return t, &inputError{err}
}

func builtinNames() []string {
	var names []string
	for _, b := range builtin.All() {
		names = append(names, b.Name)
	}
	return names
}
