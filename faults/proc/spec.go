package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// DefaultMaxLog is the size of a log when [Spec.MaxLog] is zero, in bytes.
const DefaultMaxLog = 1 << 20

// MaxLine is the longest line [Process.ReadLine] returns whole, in bytes.
const MaxLine = 1 << 20

// The names of the environment variables by which a process is found again, and
// by which a guard is known.
const (
	runVariable     = "OUTBOXTEST_RUN"
	processVariable = "OUTBOXTEST_PROCESS"
	guardVariable   = "OUTBOXTEST_GUARD"
)

// Credential is the user a process runs as. Only root can choose another than
// its own.
type Credential struct {
	UID, GID uint32
}

// Spec says what to start.
type Spec struct {
	// Name is for people: relay.0, postgres.
	Name string
	// Argv is the program and its arguments. A program without a slash is looked
	// up in the PATH of Env, a relative one counts from Dir.
	Argv []string
	// Dir is the working directory; empty is ours.
	Dir string
	// Env is the whole environment as NAME=value; nil is ours. The tokens by
	// which the process is found again are added.
	Env []string
	// Log is the file that standard error, and standard output unless Stdout is
	// set, are appended to; empty keeps only what [Process.Tail] returns. Output
	// is always read: a flood never blocks the process.
	Log string
	// MaxLog is how much of this process's output the file gets, in bytes: the
	// first half and the last half, with a line between that says how much was
	// left out. Zero is DefaultMaxLog.
	MaxLog int64
	// Secrets are replaced by *** in the log and in Tail.
	Secrets []string
	// Stdin gives the caller the standard input, see [Process.Stdin]; otherwise it
	// is empty.
	Stdin bool
	// Stdout gives the caller the standard output, see [Process.ReadLine].
	Stdout bool
	// Watch, if set, is called with each line of standard output and standard
	// error as it comes, without its end and with its secrets, at most MaxLine
	// bytes of it. It is called from the two goroutines that read them, and holds
	// up the process while it runs.
	Watch func(line string)
	// User runs the process as another user; nil is ours.
	User *Credential
	// Guard kills the process when we die; nil leaves it alone.
	Guard *Guard
	// Tree makes Kill look for descendants by parentage before it kills, for
	// programs whose children change their session and wipe their environment.
	// It costs a look through /proc before the kill instead of after it.
	Tree bool
}

// resolve finds the program, with an error that a user can act on.
func (s Spec) resolve(env []string) (string, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return "", errors.New("no command given")
	}
	program := s.Argv[0]
	if s.Dir != "" {
		if info, err := os.Stat(s.Dir); err != nil {
			return "", fmt.Errorf("its working directory: %w", err)
		} else if !info.IsDir() {
			return "", fmt.Errorf("its working directory %s is not a directory", s.Dir)
		}
	}
	if strings.ContainsRune(program, filepath.Separator) {
		if filepath.IsAbs(program) {
			return program, nil
		}
		absolute, err := filepath.Abs(filepath.Join(s.Dir, program))
		if err != nil {
			return "", fmt.Errorf("the path of %s: %w", program, err)
		}
		return absolute, nil
	}
	search := os.Getenv("PATH")
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			search = value
		}
	}
	for _, dir := range filepath.SplitList(search) {
		// An empty or relative entry of PATH would run whatever lies in the
		// working directory.
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%s is not on the PATH: install it, or give its path", program)
}

// environment is Env with the tokens in place of any that it held.
func (s Spec) environment(token string) []string {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	env = slices.DeleteFunc(slices.Clone(env), isToken)
	if s.Guard != nil {
		env = append(env, runVariable+"="+s.Guard.Token())
	}
	return append(env, processVariable+"="+token)
}

func isToken(entry string) bool {
	return strings.HasPrefix(entry, runVariable+"=") || strings.HasPrefix(entry, processVariable+"=") ||
		strings.HasPrefix(entry, guardVariable+"=")
}
