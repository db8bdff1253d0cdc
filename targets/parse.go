package targets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Load reads and checks the manifest at path, and the schema files it names.
// An error that is a [Problems] lists every mistake with its place and its
// mend; any other error means that the file could not be read.
func Load(path string) (Target, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Target{}, fmt.Errorf("read the manifest: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return Target{}, fmt.Errorf("find the manifest's folder: %w", err)
	}
	return read(path, text, folder{
		read: func(name string) ([]byte, error) { return os.ReadFile(within(dir, name)) },
		stat: func(name string) (fs.FileInfo, error) { return os.Stat(within(dir, name)) },
	}, Target{Dir: dir, Ref: path})
}

// Parse checks a manifest that is not a file of its own, such as one that is
// compiled in: text is its text, name how its mistakes call it, files holds its
// schema files. A role that is in roles is a Go function, and the manifest does
// not say how to start it. Errors are those of [Load].
func Parse(name string, text []byte, files fs.FS, roles map[string]RoleFunc) (Target, error) {
	return read(name, text, folder{
		read: func(name string) ([]byte, error) { return fs.ReadFile(files, name) },
		stat: func(name string) (fs.FileInfo, error) { return fs.Stat(files, name) },
	}, Target{Go: roles})
}

// folder is where a manifest's relative paths start.
type folder struct {
	read func(name string) ([]byte, error)
	stat func(name string) (fs.FileInfo, error)
}

func within(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

func read(source string, text []byte, dir folder, t Target) (Target, error) {
	f := &findings{source: source, at: map[string]position{}}
	if line, column, deep := TooDeep(text); deep {
		f.addAt(position{line, column}, "", "lists and mappings are in each other more than %d deep", Deepest)
	} else if decode(text, &t.Manifest, f) {
		check(t, f)
		t.SchemaSQL = schema(t.Schema.Files, dir, f)
		folders(t, dir, f)
	}
	if err := f.err(); err != nil {
		return Target{}, err
	}
	return t.WithDefaults(), nil
}

func schema(names []string, dir folder, f *findings) []string {
	var texts []string
	for i, name := range names {
		key := f.itemKey("schema", "files", i)
		if f.spoiled(key) {
			continue
		}
		text, err := dir.read(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.add(key, "there is no file %s; paths start at the manifest's folder", name)
		case err != nil:
			f.add(key, "the file cannot be read: %v", err)
		default:
			texts = append(texts, string(text))
		}
	}
	return texts
}

// folders looks for the working directories. Those of the roles may be what the
// build makes.
func folders(t Target, dir folder, f *findings) {
	demand := func(key, name string) {
		if name == "" || f.spoiled(key) {
			return
		}
		if info, err := dir.stat(name); err != nil || !info.IsDir() {
			f.add(key, "there is no folder %s; paths start at the manifest's folder", name)
		}
	}
	for i, c := range t.Build {
		demand(f.elementKey("build", i)+".dir", c.Dir)
	}
	if len(t.Build) > 0 {
		return
	}
	demand("schema.dir", t.Schema.Dir)
	eachRole(t, func(role string, p Process) { demand(role+".dir", p.Dir) })
}

// Validate checks a target that was made in Go. Its error is a [Problems].
func (t Target) Validate() error {
	source := "target"
	if t.Name != "" {
		source = "target " + t.Name
	}
	f := &findings{source: source, at: map[string]position{}}
	check(t, f)
	return f.err()
}

// The promise of a manifest that makes none.
const (
	defaultPolls   = 3
	defaultSeconds = 2
)

// WithDefaults returns the target with what a manifest may leave out filled
// in: one replica of each role, NATS, a drain of 3 polls and 2 seconds, and an
// app by HTTP that is ready when its port takes connections.
func (t Target) WithDefaults() Target {
	if t.Broker.Kind == "" {
		t.Broker.Kind = brokerNATS
	}
	if t.Drain.Polls == 0 {
		t.Drain.Polls = defaultPolls
	}
	if t.Drain.Seconds == 0 {
		t.Drain.Seconds = defaultSeconds
	}
	t.App.Replicas = max(t.App.Replicas, 1)
	if len(t.App.Place) > 0 && t.App.Ready == (Ready{}) {
		t.App.Ready.Port = true
	}
	t.Relay.Replicas = max(t.Relay.Replicas, 1)
	if t.Consumer != nil {
		consumer := *t.Consumer
		consumer.Replicas = max(consumer.Replicas, 1)
		t.Consumer = &consumer
	}
	return t
}

// WorkDir is the working directory of a process of this target: its dir, or the
// manifest's own folder.
func (t Target) WorkDir(p Process) string { return within(t.Dir, p.Dir) }

// CommandDir is the working directory of a command of this target, in the same
// way.
func (t Target) CommandDir(c Command) string { return within(t.Dir, c.Dir) }
