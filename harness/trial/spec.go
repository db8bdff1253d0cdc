package trial

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/faults/proc"
	"github.com/outboxtest/outboxtest/harness/roles"
	"github.com/outboxtest/outboxtest/harness/stack"
	"github.com/outboxtest/outboxtest/targets"
)

// process is what the manifest says of a role's process.
func (j *Job) process(role string) targets.Process {
	switch {
	case role == targets.RoleApp:
		return j.target.App.Process
	case role == targets.RoleRelay:
		return j.target.Relay.Process
	case j.target.Consumer != nil:
		return j.target.Consumer.Process
	}
	return targets.Process{}
}

// addresses are what an instance is told of the servers, each at a host:port.
func (j *Job) addresses(id faults.Instance, database, postgres, broker string, stream *stack.Stream) targets.Addresses {
	a := targets.Addresses{Postgres: j.databaseAddress(database, postgres), Instance: id.String()}
	host, port, _ := net.SplitHostPort(broker)
	user, password := j.stack.Broker.Credentials()
	a.Broker = targets.BrokerAddress{URL: j.stack.Broker.URL(broker), Addr: broker, Host: host, Port: port, User: user, Password: password}
	a.Topic, a.Stream = stack.PublishSubject(stream.Subjects), stream.Name
	return a
}

// databaseAddress is a database at a host:port.
func (j *Job) databaseAddress(database, addr string) targets.PostgresAddress {
	host, port, _ := net.SplitHostPort(addr)
	user, password := j.stack.Postgres.Credentials()
	return targets.PostgresAddress{
		URL: j.stack.Postgres.URL(database, addr), Host: host, Port: port, User: user, Password: password, Database: database}
}

// equip gives an instance a port of its own and its folder, and adds them to its
// addresses. The port is nil for a role that the harness plays itself; else the
// caller gives it back.
func (j *Job) equip(id faults.Instance, a *targets.Addresses, path string) (*port, folder, error) {
	if own, err := j.ownRole(id.Role); err != nil || own != nil {
		return nil, folder{}, err
	}
	port, err := j.ports.take()
	if err != nil {
		return nil, folder{}, fmt.Errorf("prepare %s: %w", id, err)
	}
	a.Port = port.String()
	files := j.process(id.Role).Files
	if len(files) == 0 {
		return port, folder{}, nil
	}
	a.Files = path
	f := folder{path: path, texts: map[string]string{}}
	for name, text := range files {
		if f.texts[name], err = targets.Expand(text, *a); err != nil {
			return port, folder{}, fmt.Errorf("%s.files.%s: %w", id.Role, name, err)
		}
	}
	return port, f, nil
}

// spec says how to start an instance: the manifest's command, the target's Go
// function in our own binary, or a role of the harness itself.
func (j *Job) spec(id faults.Instance, a targets.Addresses, logs string) (proc.Spec, error) {
	p := j.process(id.Role)
	talks := id.Role == targets.RoleApp && len(j.target.App.Place) == 0
	spec := proc.Spec{
		Name: id.String(), Dir: j.target.WorkDir(p), Log: filepath.Join(logs, id.String()+".log"),
		Stdin: talks, Stdout: talks, Guard: j.guard,
		Secrets: secrets(a),
		Env:     append(cleanEnvironment(), targets.Environment(a)...),
	}
	own, err := j.ownRole(id.Role)
	switch {
	case err != nil:
		return spec, err
	case own != nil:
		spec.Argv, spec.Dir = own.Argv, ""
		spec.Env = append(spec.Env, own.Env...)
	case j.target.Go[id.Role] != nil:
		argv, env := j.self(roles.Target(j.target.Name, id.Role))
		spec.Argv, spec.Dir = argv, ""
		spec.Env = append(spec.Env, env...)
	default:
		if spec.Argv, err = expandAll(id.Role+".start", p.Start, a); err != nil {
			return spec, err
		}
	}
	env, err := expandEnv(id.Role+".env", p.Env, a)
	spec.Env = append(spec.Env, env...)
	return spec, err
}

// secrets are the passwords in an instance's addresses, as they are and as they
// stand in a URL.
func secrets(a targets.Addresses) []string {
	var list []string
	for _, password := range []string{a.Postgres.Password, a.Broker.Password} {
		list = append(list, password)
		_, inURL, _ := strings.Cut(url.UserPassword("", password).String(), ":")
		if escaped := url.QueryEscape(password); inURL != password || escaped != password {
			list = append(list, inURL, escaped)
		}
	}
	return list
}

// expandAll replaces the templates in the words of a command.
func expandAll(key string, words []string, a targets.Addresses) ([]string, error) {
	var list []string
	for _, word := range words {
		expanded, err := targets.Expand(word, a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		list = append(list, expanded)
	}
	return list, nil
}

// expandEnv replaces the templates in the values of variables, and returns them as
// NAME=value.
func expandEnv(key string, env map[string]string, a targets.Addresses) ([]string, error) {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		expanded, err := targets.Expand(env[name], a)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", key, name, err)
		}
		list = append(list, name+"="+expanded)
	}
	return list, nil
}

// cleanEnvironment is ours, without what an outer harness may have set.
func cleanEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "OUTBOXTEST_") })
}
