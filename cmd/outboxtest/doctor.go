package main

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
	"github.com/outboxtest/outboxtest/targets"
	"github.com/outboxtest/outboxtest/targets/builtin"
)

func (a *app) doctor() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "doctor [TARGET]",
		Short: "What is installed, what would be used, what is missing; is the manifest sound",
		Long: `doctor starts the servers that a run would use and says which they are, or what
is missing. With a TARGET it checks the manifest, applies the schema, and makes
the fault-free runs: what they do not show, no fault can be judged by.
Without one it does the same with a built-in reference.`,
		Example: `  outboxtest doctor
  outboxtest doctor my-outbox.yaml
  outboxtest doctor --postgres postgres://me:secret@localhost:5432/postgres`,
		Args: args(cobra.MaximumNArgs(1)),
	}
	f.servers(cmd)
	f.machine(cmd)
	cmd.RunE = a.does(func(cmd *cobra.Command, args []string) (properties.Verdict, error) {
		name := ""
		if len(args) == 1 {
			name = args[0]
		}
		return a.examine(cmd, name, f)
	})
	return cmd
}

func (a *app) examine(cmd *cobra.Command, name string, f flags) (properties.Verdict, error) {
	o, err := f.options(a)
	if err != nil {
		return "", err
	}
	out, err := a.output(f.json)
	if err != nil {
		return "", err
	}
	o.SkipSweep = true
	if o.Jobs == 0 {
		o.Jobs = 1
	}
	say := notes{out.text}
	say.note("harness", "%s, %s/%s, %d processors", version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	target, err := examined(name, say)
	if err != nil {
		return "", err
	}
	o.Progress = a.meter.of(target.Ref)
	var result harness.Result
	err = a.session(cmd.Context(), o, func(s *harness.Session) error {
		say.note("servers", "they start; now the fault-free runs of %s", target.Ref)
		result, err = s.Run(cmd.Context(), target, o)
		return err
	})
	if err != nil {
		return "", err
	}
	a.meter.clear()
	say.note("postgres", "PostgreSQL %s", result.Environment.Postgres)
	say.note("broker", "NATS %s", result.Environment.Broker)
	say.earned(result)
	return result.Verdict, out.object(result)
}

// examined is the target that doctor runs: the user's own, or a reference that
// is known to pass.
func examined(name string, say notes) (targets.Target, error) {
	if name != "" {
		target, err := findTarget(name)
		if err == nil {
			say.note("target", "%s: the manifest is sound", name)
		}
		return target, err
	}
	for _, b := range builtin.All() {
		if b.Expected == "" {
			say.note("target", "%s, built in: name a target to have it examined instead", b.Name)
			return b.Target, nil
		}
	}
	return targets.Target{}, fmt.Errorf("there is no built-in reference")
}

// notes writes what doctor finds, a line each, as it finds it.
type notes struct{ w io.Writer }

func (n notes) note(what, format string, args ...any) {
	fmt.Fprintf(n.w, "%-9s %s\n", what, fmt.Sprintf(format, args...))
}

// earned tells what the fault-free runs show, and what they do not.
func (n notes) earned(r harness.Result) {
	for _, p := range r.Properties {
		text := string(p.Verdict)
		if !p.Claimed {
			text += " (not claimed: for information)"
		}
		n.note("judged", "%s: %s", p.Name, text)
		for _, v := range p.Violations {
			for _, line := range append(report.Fold("  ", v.Summary), report.Details(v)...) {
				fmt.Fprintln(n.w, line)
			}
		}
	}
	for _, reason := range report.Reasons(r) {
		for _, line := range report.Fold("  ", "not known: "+reason) {
			fmt.Fprintln(n.w, line)
		}
	}
	switch r.Verdict {
	case properties.Pass:
		n.note("ready", "the fault-free runs show everything that a verdict needs: outboxtest run %s", r.Target)
	case properties.Fail:
		n.note("not ready", "a property is violated without any fault: mend that first")
	default:
		n.note("not ready", "the fault-free runs do not show enough to judge by: a pass would not be earned")
	}
}
