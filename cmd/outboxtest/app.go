package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/outboxtest/outboxtest/harness"
	"github.com/outboxtest/outboxtest/properties"
)

// app is one invocation of the command.
type app struct {
	in          io.Reader
	out, errOut io.Writer
	// outIsTerminal and errIsTerminal decide about colour and the status line.
	outIsTerminal, errIsTerminal bool

	meter   *meter
	waits   *waiting
	verdict properties.Verdict
}

func newApp(in io.Reader, out, errOut *os.File) *app {
	return &app{
		in: in, out: out, errOut: errOut,
		outIsTerminal: isTerminal(out), errIsTerminal: isTerminal(errOut),
		meter: newMeter(errOut, isTerminal(errOut) && os.Getenv("TERM") != "dumb"),
		waits: &waiting{}, verdict: properties.Pass,
	}
}

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd()) }

// color tells whether what goes to a stream may be coloured. See no-color.org.
func color(terminal bool) bool {
	return terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// run executes the command line and returns the exit status.
func (a *app) run(args []string) int {
	ctx, stop := a.interruptible(context.Background())
	defer stop()
	root := a.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.meter.clear()
	if err == nil {
		return statusOf(a.verdict)
	}
	if strings.HasPrefix(err.Error(), "unknown command") { // cobra has no type for it
		err = usage(root, err)
	}
	status := a.status(ctx, err)
	a.complain(status, err)
	//nolint:errorlint // joined with another error it is not the only one
	if _, only := err.(*untoldError); only && a.verdict == properties.Fail && status != statusInterrupted {
		return statusViolated // a full disk does not acquit
	}
	return status
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "outboxtest",
		Short: "Crash-consistency tests for transactional outboxes",
		Long: `outboxtest runs an outbox against a real PostgreSQL and a real broker, kills its
processes and breaks its connections at every moment that matters, and judges
what became of the events: none lost, none made up, each applied once.

Exit status: 0 pass; 1 a property is violated; 2 unknown (something planned was
not exercised or could not be judged); 3 bad input; 4 the environment lacks
something; 130 interrupted.`,
		Example: `  outboxtest demo                         see it convict ten broken outboxes
  outboxtest run my-outbox.yaml           test your own
  outboxtest replay .outboxtest/failures/my-outbox-no-lost-event-1.yaml`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("outboxtest {{.Version}}\n")
	root.SetOut(a.out)
	root.SetErr(a.errOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, err) })
	root.AddCommand(a.demo(), a.runTarget(), a.replay(), a.check(), a.merge(), a.list(), a.doctor())
	return root
}

// does makes a cobra function of one that comes to a verdict.
func (a *app) does(do func(cmd *cobra.Command, args []string) (properties.Verdict, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		a.verdict, err = do(cmd, args)
		return err
	}
}

// args wraps a check of the number of arguments, so that its error teaches.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage(cmd, fmt.Errorf("%w: %s", err, cmd.UseLine()))
		}
		return nil
	}
}

// session opens a session, lends it, and closes it whatever comes.
func (a *app) session(ctx context.Context, o harness.Options, use func(*harness.Session) error) (err error) {
	a.waits.set("the servers, which are starting")
	s, err := harness.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		a.waits.set("the servers and processes of this run, which are ending")
		if closing := s.Close(); closing != nil {
			err = errors.Join(err, &cleanupError{closing})
		}
	}()
	a.waits.set("the trials under way, which are being given up")
	return use(s)
}

// logger takes what the harness does when the user asked to see it.
func (a *app) logger(verbose bool) *slog.Logger {
	if !verbose {
		return nil
	}
	a.meter.plainly()
	return slog.New(slog.NewTextHandler(a.errOut, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
