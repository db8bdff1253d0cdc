package targets

import (
	"fmt"
	"io/fs"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// mostReadySeconds is longer than any service is given to start.
const mostReadySeconds = 600

// checkProcess demands a command or a Go function, and not both.
func checkProcess(t Target, role string, p Process, f *findings) {
	isFunction := t.Go[role] != nil
	start := role + ".start"
	switch {
	case isFunction && len(p.Start) > 0:
		f.add(start, "the role is a Go function, which has no command; leave it out")
	case !isFunction && len(p.Start) == 0 && !f.spoiled(role):
		mend := "write the command and its arguments, such as [./service, --verbose]"
		if role == RoleRelay {
			mend += `, or "relay: app" if the app's process publishes too`
		}
		f.add(start, "it is missing; %s", mend)
	case len(p.Start) > 0 && strings.TrimSpace(p.Start[0]) == "" && !f.spoiled(start):
		f.add(start, "the command is empty; write the program first and then its arguments")
	}
	known := processNames(p)
	for i, word := range p.Start {
		checkTemplate(f, fmt.Sprintf("%s[%d]", start, i), word, known)
	}
	checkEnv(role, p.Env, &known, f)
	checkFiles(role+".files", p.Files, known, f)
	checkReady(role, p, f)
	checkReplicas(role, p.Replicas, f)
}

// checkEnv takes the values as they are where nothing can be named.
func checkEnv(at string, env map[string]string, known *names, f *findings) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		key := join(join(at, "env"), name)
		if name == "" || strings.ContainsAny(name, "=\x00") {
			f.add(key, "%q cannot be a variable's name", name)
		}
		if known != nil {
			checkTemplate(f, key, env[name], *known)
		}
	}
}

func checkFiles(at string, files map[string]string, known names, f *findings) {
	paths := slices.Sorted(maps.Keys(files))
	for _, path := range paths {
		key := join(at, path)
		if path == "." || !fs.ValidPath(path) || strings.ContainsAny(path, "\\:\x00") {
			f.add(key, `%q is no path below the instance's own folder; write one such as config/application.properties, without "..", and name the folder as {{.Files}}`, path)
			continue
		}
		for _, other := range paths {
			if strings.HasPrefix(other, path+"/") {
				f.add(key, "%s lies below it, so that it cannot be a file", other)
				break
			}
		}
		checkTemplate(f, key, files[path], known)
	}
}

func checkReady(role string, p Process, f *findings) {
	key := role + ".ready"
	forms := 0
	for _, set := range []bool{p.Ready.Get != "", p.Ready.Port, p.Ready.Log != ""} {
		if set {
			forms++
		}
	}
	switch {
	case forms > 1:
		f.add(key, "it says more than one thing; %s", readyMend)
	case forms == 0 && f.written(key) && !f.spoiled(key):
		f.add(key, "nothing is written here; %s", readyMend)
	case p.Ready.Log != "":
		if _, err := regexp.Compile(p.Ready.Log); err != nil {
			f.add(key+".log", "%s", badPattern(err))
		}
	}
	within := role + ".ready-within"
	if s := p.ReadyWithin; s < 0 || s > mostReadySeconds || math.IsNaN(s) {
		f.add(within, "%v is out of range; write more than 0 and at most %d seconds", s, mostReadySeconds)
	}
}

func checkReplicas(role string, n int, f *findings) {
	if n < 0 || n > mostReplicas {
		f.add(role+".replicas", "%d is out of range; write 1 to %d", n, mostReplicas)
	}
}

// checkBuild: a build comes before anything has an address.
func checkBuild(commands []Command, f *findings) {
	for i, c := range commands {
		at := f.elementKey("build", i)
		checkRun(at, c.Run, nil, f)
		checkEnv(at, c.Env, nil, f)
		for _, name := range slices.Sorted(maps.Keys(c.Env)) {
			refuseAddress(join(join(at, "env"), name), c.Env[name], f)
		}
		for j, word := range c.Run {
			refuseAddress(f.itemKey(at, "run", j), word, f)
		}
	}
}

// refuseAddress notes a template that would be replaced elsewhere. Others are
// left alone: a build may have templates of its own.
func refuseAddress(key, text string, f *findings) {
	named := depends(text, nil, func(a *Addresses, w string) {
		a.Postgres = PostgresAddress{w, w, w, w, w, w}
		a.Broker = BrokerAddress{w, w, w, w, w, w}
		a.Topic, a.Stream, a.Instance, a.Port, a.Files = w, w, w, w, w
	})
	if named {
		f.add(key, "a build is run before anything has an address; leave the template out, or move the command to schema or to a role")
	}
}

func checkRun(at string, words []string, known *names, f *findings) {
	key := at + ".run"
	switch {
	case len(words) == 0:
		if !f.spoiled(at) {
			f.add(key, "it is missing; write the program and its arguments: [npm, ci]")
		}
	case strings.TrimSpace(words[0]) == "" && !f.spoiled(f.itemKey(at, "run", 0)):
		f.add(f.itemKey(at, "run", 0), "the command is empty; write the program first and then its arguments")
	}
	if known == nil {
		return
	}
	for i, word := range words {
		checkTemplate(f, f.itemKey(at, "run", i), word, *known)
	}
}

func checkSchema(t Target, f *findings) {
	s := t.Schema
	for i, name := range s.Files {
		text(f, f.itemKey("schema", "files", i), name, "a SQL file's path")
	}
	if s.ByApp {
		checkByApp(t, f)
		return
	}
	known := databaseNames()
	if len(s.Run) > 0 {
		checkRun("schema", s.Run, &known, f)
		checkEnv("schema", s.Env, &known, f)
		return
	}
	if (s.Dir != "" || len(s.Env) > 0) && !f.spoiled("schema") {
		f.add("schema", "dir and env are those of run, which is missing; write the migration command, or leave them out")
	}
}

// checkByApp: an app that makes its tables has to be started, and has to tell
// when they are there.
func checkByApp(t Target, f *findings) {
	a := t.App
	if len(t.Schema.Files) > 0 || len(t.Schema.Run) > 0 {
		f.add("schema", "the app makes it, and there are files or a command too; keep one of them")
	}
	switch {
	case len(a.SQL) > 0:
		f.add("schema", "sql is run by the harness's own process, which makes no tables; write a list of SQL files or a migration command")
	case len(a.Place) == 0 && a.Ready == (Ready{}) && !f.spoiled("app"):
		f.add("app.ready", `it is missing, and "schema: by app" waits for it; %s`, readyMend)
	}
}
