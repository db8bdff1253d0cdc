// Package proc runs the operating-system processes of a trial: the roles of a
// target and the servers of a stack. It starts them, kills them, stops and
// continues them, keeps their logs, and sees to it that nothing outlives the
// harness, also when the harness itself is killed with SIGKILL.
//
// # Processes
//
// [Start] starts a [Process] in a process group of its own, so that SIGKILL
// means what it means in production. [Process.Kill] kills the group and every
// descendant that left it for a session of its own, and returns when all of them
// are dead: what they listened on can be bound again at once.
//
//	g, err := proc.StartGuard(ctx, exe, []string{"OUTBOXTEST_ROLE=guard"})
//	...
//	p, err := proc.Start(ctx, proc.Spec{Name: "relay.0", Argv: []string{"./relay"}, Guard: g, Log: "relay.0.log"})
//	...
//	err = p.Kill()
//
// A process ends as a whole: when its leader exits, by itself or killed, the
// rest of its group and its stragglers are killed before [Process.Done] is
// closed.
//
// # The guard
//
// The [Guard] is our own binary started again, in a session of its own, holding
// the read end of a pipe from us. The kernel closes our end however we die; then
// the guard kills what we started and undoes what we registered with
// [Guard.Undo], last first. An orderly end is the same: [Guard.Close] closes the
// pipe, waits, and returns what went wrong. Secrets go through that pipe only,
// never through a command line or an environment.
//
// # How processes are found
//
// Three ways, because each has a gap. The process group, by its number: it
// misses who called setsid. The environment: every process gets OUTBOXTEST_RUN
// (one token a run) and OUTBOXTEST_PROCESS (one token a process), which are
// inherited by descendants and read from /proc; it misses who wiped its own
// environment, as Postgres backends do. Parentage, for the guard and for
// processes with [Spec.Tree]: it misses who lost its parent before, or, for the
// guard, was made in the moment between the look and the kill. What
// does all three at once (a daemon that forks twice, changes its session and
// clears its environment) escapes.
//
// There is no gap between fork and registration: until it executes its
// program, a forked child holds a copy of our end of the guard's pipe, so the
// guard sees the end of the pipe only when the environment token is there.
//
// Other systems than Linux have no /proc: there only the process group counts.
package proc
