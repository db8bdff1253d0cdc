package main

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets/builtin"
)

// listing is what list --json writes.
type listing struct {
	Version    int              `json:"version"`
	Targets    []listedTarget   `json:"targets"`
	Faults     []listedFault    `json:"faults"`
	Properties []listedProperty `json:"properties"`
}

type listedTarget struct {
	Name             string             `json:"name"`
	About            string             `json:"about"`
	Expected         properties.Verdict `json:"expected"`
	ExpectedProperty string             `json:"expected_property,omitempty"`
}

type listedFault struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

type listedProperty struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Always: every outbox must keep it; the others count when they are claimed.
	Always bool `json:"always"`
}

func (a *app) list() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "The built-in targets, the faults, and the properties",
		Example: `  outboxtest list
  outboxtest list --json -`,
		Args: args(cobra.NoArgs),
	}
	f.machine(cmd)
	cmd.RunE = a.does(func(*cobra.Command, []string) (properties.Verdict, error) {
		out, err := a.output(f.json)
		if err != nil {
			return "", err
		}
		l := everything()
		if err := l.write(out.text); err != nil {
			return "", err
		}
		return properties.Pass, out.object(l)
	})
	return cmd
}

func everything() listing {
	l := listing{Version: report.Version}
	for _, b := range builtin.All() {
		t := listedTarget{Name: b.Name, About: b.About, Expected: properties.Pass}
		if b.Expected != "" {
			t.Expected, t.ExpectedProperty = properties.Fail, b.Expected
		}
		l.Targets = append(l.Targets, t)
	}
	for _, k := range faults.Kinds() {
		l.Faults = append(l.Faults, listedFault{string(k.Kind), k.About})
	}
	for _, rule := range properties.All() {
		l.Properties = append(l.Properties, listedProperty{rule.Name, rule.About, rule.Always})
	}
	return l
}

func (l listing) write(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString("Built-in targets\n")
	for _, t := range l.Targets {
		expected := "must pass"
		if t.ExpectedProperty != "" {
			expected = "caught by " + t.ExpectedProperty
		}
		item(&b, fmt.Sprintf("%s (%s)", t.Name, expected), t.About)
	}
	b.WriteString("\nFaults\n")
	for _, f := range l.Faults {
		item(&b, f.Name, f.About)
	}
	b.WriteString("\nProperties\n")
	for _, p := range l.Properties {
		kind := "when claimed"
		if p.Always {
			kind = "always judged"
		}
		item(&b, fmt.Sprintf("%s (%s)", p.Name, kind), p.About)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the list: %w", err)
	}
	return nil
}

func item(b *bytes.Buffer, name, about string) {
	b.WriteString("  " + name + "\n")
	for _, line := range report.Fold("      ", about) {
		b.WriteString(line + "\n")
	}
}
