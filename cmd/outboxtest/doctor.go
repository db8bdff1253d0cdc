package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/harness/diagnosis"
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
is missing. With a TARGET it tries the manifest step by step, without any fault:
the build, the schema, the app's start, one order, that it is seen committed, the
relay's start, one event in the broker, that it is understood, one effect of each
consumer, and that everything passed the proxies. It stops at the first step that
is wrong, and says how to mend it. Then it makes the fault-free runs: what they do
not show, no fault can be judged by. At last it says how fast the target is, how
long a sweep will take, and which settings to lower.
Without a TARGET it does the same with a built-in reference.`,
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
	o, err := f.options(a, cmd)
	if err != nil {
		return "", err
	}
	out, err := a.output(f.json)
	if err != nil {
		return "", err
	}
	say := notes{out.text, out.color}
	say.note("harness", "%s, %s/%s, %d processors", version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	target, err := examined(name, say)
	if err != nil {
		return "", errors.Join(err, unsound(name, err, say, out))
	}
	o.Progress = a.meter.of(target.Ref)
	one := o // a trial at a time: nothing is measured beside others
	if one.Jobs == 0 {
		one.Jobs = 1
	}
	var found harness.Examination
	err = a.session(cmd.Context(), one, func(s *harness.Session) error {
		found, err = s.Examine(cmd.Context(), target, o, func(step diagnosis.Step) {
			a.meter.clear()
			say.step(step)
		})
		return err
	})
	a.meter.clear()
	if err != nil {
		return "", err
	}
	say.told(target.Ref, found)
	if err := out.object(objectOf(target.Ref, found)); err != nil {
		return "", err
	}
	if wrong := found.Wrong(); wrong != nil && !wrong.Seen {
		return "", badInput("%s is not ready: the step %s is wrong, see its mend", target.Ref, wrong.Name)
	}
	return found.Verdict(), nil
}

// unsound tells of a manifest with mistakes, which are the error itself; of any other
// error it tells nothing.
func unsound(name string, err error, say notes, out output) error {
	var problems targets.Problems
	if !errors.As(err, &problems) {
		return nil
	}
	step := diagnosis.Step{Name: diagnosis.Manifest, State: diagnosis.Wrong, What: "1 mistake"}
	if n := len(problems); n > 1 {
		step.What = fmt.Sprintf("%d mistakes", n)
	}
	say.step(step)
	for _, p := range problems {
		step.Evidence = append(step.Evidence, p.String())
	}
	return out.object(objectOf(name, harness.Examination{Steps: []diagnosis.Step{step}}))
}

// examined is the target that doctor runs: the user's own, or a reference that
// is known to pass.
func examined(name string, say notes) (targets.Target, error) {
	if name != "" {
		return findTarget(name)
	}
	for _, b := range builtin.All() {
		if b.Expected == "" {
			say.note("target", "%s, built in: name a target to have it examined instead", b.Name)
			return b.Target, nil
		}
	}
	return targets.Target{}, fmt.Errorf("there is no built-in reference")
}
