package targets

// Command is a command that is run and waited for. It may be written as a list
// of its words.
type Command struct {
	// Run is the program and its arguments.
	Run []string `yaml:"run"`
	// Dir is the working directory, relative to the manifest; default: the
	// manifest's own.
	Dir string `yaml:"dir,omitempty"`
	// Env is added to the environment.
	Env map[string]string `yaml:"env,omitempty"`
}

func (*Command) listKey() string { return "run" }
func (*Command) mend() string {
	return "write each command as a list of its words: [[go, build, ./...]]"
}

// Schema is how the template of the trial databases is made. It may be written
// as a list, of the files, or as the words "by app".
type Schema struct {
	// Files are SQL files, relative to the manifest, applied in order.
	Files []string `yaml:"files,omitempty"`
	// Run is a migration command and its arguments, run after the files;
	// templates may name the template database.
	Run []string `yaml:"run,omitempty"`
	// Dir is the command's working directory, relative to the manifest.
	Dir string `yaml:"dir,omitempty"`
	// Env is added to the command's environment, templates as in Run.
	Env map[string]string `yaml:"env,omitempty"`
	// ByApp: the app makes it. It is started once on the template database,
	// waited for until it is ready, and stopped.
	ByApp bool `yaml:"-"`
}

// byApp is the scalar form of a schema.
const byApp = "by app"

// Command is the migration command; its Run is empty where there is none.
func (s Schema) Command() Command { return Command{Run: s.Run, Dir: s.Dir, Env: s.Env} }

func (*Schema) listKey() string { return "files" }
func (*Schema) mend() string {
	return `write a list of SQL files: [db/schema.sql], a migration command: {run: [./migrate, '{{.Postgres.URL}}']}, or "by app" if the app makes its tables when it starts`
}

func (s *Schema) setScalar(word string) bool {
	s.ByApp = word == byApp
	return s.ByApp
}
