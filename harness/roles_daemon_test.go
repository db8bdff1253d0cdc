package harness

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/outboxtest/outboxtest/targets/reference/polling"
)

const (
	// daemonVariable is set in the process that does the work of daemonize.
	daemonVariable = "ACCEPTANCE_DAEMON"
	// daemonSurvives is how long that process outlives its parent: longer than it is waited
	// for, and not for ever.
	daemonSurvives = 20 * time.Second
)

// daemonize does its work in a process of a session of its own, without the
// variables that tell whose it is: nothing that a kill looks for finds it.
func daemonize(ctx context.Context) error {
	if os.Getenv(daemonVariable) != "" {
		go outlive(os.Getppid())
		return polling.Relay(ctx)
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	daemon := exec.Command(exe)
	daemon.Env = append(slices.DeleteFunc(os.Environ(), func(entry string) bool {
		return strings.HasPrefix(entry, "OUTBOXTEST_RUN=") || strings.HasPrefix(entry, "OUTBOXTEST_PROCESS=")
	}), daemonVariable+"=1")
	daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := daemon.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	return daemon.Process.Kill()
}

// outlive ends this process some time after its parent.
func outlive(parent int) {
	for os.Getppid() == parent {
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(daemonSurvives)
	os.Exit(0)
}
