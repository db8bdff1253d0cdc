package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/roles"
	"github.com/outboxtest/outboxtest/targets"
)

const (
	// migratePatience bounds a migration command: one that asks a question would
	// wait for ever.
	migratePatience = 10 * time.Minute
	// termPatience is how long the app that made the schema gets to stop.
	termPatience = 10 * time.Second
	// alonePatience is how long the backends of what made the schema get to end
	// when their clients are dead.
	alonePatience = 30 * time.Second
)

// makeTemplate makes the schema that the trial's databases are copied from, on a
// connection to the database that is to be the template.
func (j *Job) makeTemplate(ctx context.Context, conn *pgx.Conn) error {
	for i, sql := range j.target.SchemaSQL {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return j.badSchema(i, err)
		}
	}
	database := conn.Config().Database
	var err error
	switch {
	case len(j.target.Schema.Run) > 0:
		err = j.migrate(ctx, database)
	case j.target.Schema.ByApp:
		err = j.schemaByApp(ctx, database)
	default:
		return j.ownTables(ctx, conn)
	}
	if err != nil {
		return err
	}
	if err := alone(ctx, conn); err != nil {
		return err
	}
	return j.ownTables(ctx, conn)
}

// ownTables makes what the harness's own consumer needs, if it plays.
func (j *Job) ownTables(ctx context.Context, conn *pgx.Conn) error {
	if j.target.Consumer != nil {
		return nil
	}
	if _, err := conn.Exec(ctx, roles.ConsumerSchema); err != nil {
		return fmt.Errorf("make the tables of the harness's own consumer: %w", err)
	}
	return nil
}

// migrate runs the migration command on the database itself: there is no trial yet
// that it could be part of.
func (j *Job) migrate(ctx context.Context, database string) error {
	c := j.target.Schema.Command()
	a := targets.Addresses{Postgres: j.databaseAddress(database, j.stack.Postgres.Addr())}
	logs, err := j.templateLogs()
	if err != nil {
		return err
	}
	s := proc.Spec{
		Name: "schema.run", Dir: j.target.CommandDir(c), Guard: j.guard, Secrets: secrets(a),
		Env: append(cleanEnvironment(), targets.EnvPostgresURL+"="+a.Postgres.URL),
		Log: filepath.Join(logs, "migration.log"),
	}
	if s.Argv, err = expandAll("schema.run", c.Run, a); err != nil {
		return err
	}
	env, err := expandEnv("schema.env", c.Env, a)
	if err != nil {
		return err
	}
	s.Env = append(s.Env, env...)
	return command(ctx, StageSchema, s, migratePatience)
}

// schemaByApp starts the app on the database and the broker themselves, waits until
// it is ready, and stops it. What it publishes meanwhile goes to a stream that no
// trial reads.
func (j *Job) schemaByApp(ctx context.Context, database string) (err error) {
	logs, err := j.templateLogs()
	if err != nil {
		return err
	}
	stream, err := j.stack.Broker.Stream(ctx, j.target.Broker.Topics)
	if err != nil {
		return fmt.Errorf("make a stream for the app that makes the schema: %w", err)
	}
	defer func() { err = errors.Join(err, stream.Drop(context.WithoutCancel(ctx))) }()
	id := faults.Instance{Role: targets.RoleApp}
	a := j.addresses(id, database, j.stack.Postgres.Addr(), j.stack.Broker.Addr(), stream)
	path := filepath.Join(j.files, "template")
	defer func() { err = errors.Join(err, os.RemoveAll(path)) }()
	port, files, err := j.equip(id, &a, path)
	if port != nil {
		defer func() { err = errors.Join(err, port.giveBack()) }()
	}
	if err != nil {
		return err
	}
	s, err := j.spec(id, a, logs)
	if err != nil {
		return err
	}
	if err := errors.Join(files.write(), port.vacate()); err != nil {
		return err
	}
	return j.startedOnce(ctx, s, a.Port, port)
}

// startedOnce has the app come up and go again.
func (j *Job) startedOnce(ctx context.Context, s proc.Spec, number string, own *port) error {
	p := j.target.App.Process
	probe, err := newProbe(p.Ready, number)
	if err != nil {
		return err
	}
	const doing = ", to make the schema,"
	s.Watch = probe.line()
	process, err := proc.Start(ctx, s)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &TargetError{Stage: StageSchema, Instance: s.Name + doing, What: "does not start: " + err.Error(), Mend: "check app.start in the manifest"}
	}
	var answers *calls
	if s.Stdout {
		answers = newCalls(process) // else what it says fills the pipe
	}
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	up := probe.arrive(waiting, process, p.StartBudget(), stop)
	exited := process.State().Exited
	err = terminate(process)
	if answers != nil {
		answers.close()
	}
	why := hide(waitedFor(probe), s.Secrets)
	switch {
	case err != nil || ctx.Err() != nil:
		return errors.Join(ctx.Err(), err)
	case up:
		return nil
	case exited && own.stranger() != nil:
		return &PortError{Instance: s.Name, Port: own.number}
	case exited:
		return &TargetError{Stage: StageSchema, Instance: s.Name + doing, What: fmt.Sprintf("%s before it was ready: it was waited for %s", process.State(), why), Log: logTail(s.Log)}
	}
	return &TargetError{Stage: StageSchema, Instance: s.Name + doing, What: fmt.Sprintf("was not ready within %v: waited for %s", p.StartBudget(), why),
		Mend: "see that it comes up and that app.ready in the manifest says how that shows, or raise app.ready-within", Log: logTail(s.Log)}
}

// terminate stops a process as a supervisor does.
func terminate(p *proc.Process) error {
	if err := p.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timer := time.NewTimer(termPatience)
	defer timer.Stop()
	select {
	case <-p.Done():
		return nil
	case <-timer.C:
		return p.Kill()
	}
}

// alone waits until nobody but the connection is in its database: nobody may be
// connected to what is copied, and who is may still write.
func alone(ctx context.Context, conn *pgx.Conn) error {
	begin := time.Now()
	for {
		others := 0
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND pid <> pg_backend_pid() AND backend_type IN ('client backend', 'walsender')`).Scan(&others)
		if err != nil {
			return fmt.Errorf("look for sessions of what made the schema: %w", err)
		}
		if others == 0 {
			return nil
		}
		if time.Since(begin) > alonePatience {
			return fmt.Errorf("%d sessions of what made the schema were still there %v after it had ended", others, alonePatience)
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// templateLogs is the folder for the logs of what makes the schema.
func (j *Job) templateLogs() (string, error) {
	dir := filepath.Join(j.dir, "template")
	// The job of another target may have left its logs.
	if err := os.RemoveAll(dir); err != nil {
		return "", fmt.Errorf("remove another target's logs: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for the logs of what makes the schema: %w", err)
	}
	return dir, nil
}
