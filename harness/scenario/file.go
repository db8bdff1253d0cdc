package scenario

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/outboxtest/outboxtest/faults"
	"github.com/outboxtest/outboxtest/harness/whole"
	"github.com/outboxtest/outboxtest/targets"
)

// longest bounds what is read of a file, in bytes, as of a manifest.
const longest = 1 << 20

// The shapes of the file; the types of the package stay free of its spelling.
type file struct {
	Version  int           `yaml:"version"`
	Target   string        `yaml:"target,omitempty"`
	Pace     Pace          `yaml:"pace,omitempty"`
	Replicas int           `yaml:"replicas,omitempty"`
	Workload []Step        `yaml:"workload"`
	Faults   []fileFault   `yaml:"faults,omitempty"`
	Segments []fileSegment `yaml:"segments,omitempty"`
}

type fileSegment struct {
	Pace     Pace        `yaml:"pace,omitempty"`
	Workload []Step      `yaml:"workload"`
	Faults   []fileFault `yaml:"faults,omitempty"`
}

type fileFault struct {
	At    string   `yaml:"at"`
	Do    string   `yaml:"do"`
	Until string   `yaml:"until,omitempty"`
	Drop  []string `yaml:"drop,omitempty"`
	Then  fileThen `yaml:"then,omitempty"`
}

type fileThen struct {
	Restart faults.Restart `yaml:"restart,omitempty"`
}

// barePoint finds points that are not in single quotes. In YAML the "#1" of a
// bare point would begin a comment and silently cut the point short, so Parse
// quotes them first.
var barePoint = regexp.MustCompile(`'?(?:app|relay|consumer)\.(?:[0-9]+|\*)/(?:postgres|broker) "(?:[^"\\\n]|\\.)*"(?: +#[0-9]+)?(?: +[a-z]+)?'?`)

func quotePoints(data []byte) []byte {
	return barePoint.ReplaceAllFunc(data, func(p []byte) []byte {
		if p[0] == '\'' {
			return p
		}
		return []byte("'" + strings.ReplaceAll(string(bytes.TrimSuffix(p, []byte("'"))), "'", "''") + "'")
	})
}

// Parse reads a scenario file. Errors name the line and the mend.
func Parse(data []byte) (Scenario, error) {
	if line, _, deep := targets.TooDeep(data); deep {
		return Scenario{}, fmt.Errorf("not a scenario: line %d: lists and mappings are in each other more than %d deep", line, targets.Deepest)
	}
	var f file
	if err := yaml.UnmarshalWithOptions(quotePoints(data), &f, yaml.Strict()); err != nil {
		return Scenario{}, fmt.Errorf("not a scenario: %s", strings.TrimSpace(yaml.FormatError(err, false, true)))
	}
	if f.Version != Version {
		return Scenario{}, fmt.Errorf("version: this file has version %d, this harness reads version %d", f.Version, Version)
	}
	s := Scenario{Target: f.Target, Pace: f.Pace, Replicas: f.Replicas, Workload: f.Workload}
	var err error
	if s.Faults, err = parseFaults(f.Faults); err != nil {
		return Scenario{}, err
	}
	for i, fs := range f.Segments {
		segment := Segment{Pace: fs.Pace, Workload: fs.Workload}
		if segment.Faults, err = parseFaults(fs.Faults); err != nil {
			return Scenario{}, fmt.Errorf("segments: segment %d: %w", i+1, err)
		}
		s.Segments = append(s.Segments, segment)
	}
	return s, s.Validate()
}

func parseFaults(from []fileFault) (list []faults.Fault, err error) {
	for i, ff := range from {
		fault, err := ff.fault()
		if err != nil {
			return nil, fmt.Errorf("faults: fault %d: %w", i+1, err)
		}
		list = append(list, fault)
	}
	return list, nil
}

// Load reads the scenario file at path; a relative manifest path in it is made
// relative to the working directory.
func Load(path string) (Scenario, error) {
	data, err := read(path)
	if err != nil {
		return Scenario{}, fmt.Errorf("read the scenario: %w", err)
	}
	s, err := Parse(data)
	if err != nil {
		return Scenario{}, fmt.Errorf("%s: %w", path, err)
	}
	if isPath(s.Target) && !filepath.IsAbs(s.Target) {
		s.Target = filepath.Join(filepath.Dir(path), s.Target)
	}
	return s, nil
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err == nil && len(data) > longest {
		err = fmt.Errorf("%s: it is longer than %d MiB, and a scenario has a page or two: see docs/scenario.md", path, longest>>20)
	}
	return data, err
}

// isPath tells a manifest's path from a built-in's name.
func isPath(target string) bool { return strings.ContainsAny(target, "./\\") }

// Save writes the scenario to path, with its manifest path made relative to
// the file. The comment, one line a string, stands at its head. After an error
// the file is as it was.
func Save(path string, s Scenario, comment ...string) error {
	if isPath(s.Target) {
		abs, err := filepath.Abs(s.Target)
		if err != nil {
			return fmt.Errorf("write the scenario %s: %w", path, err)
		}
		dir, err := filepath.Abs(filepath.Dir(path))
		if err != nil {
			return fmt.Errorf("write the scenario %s: %w", path, err)
		}
		if s.Target, err = filepath.Rel(dir, abs); err != nil {
			s.Target = abs
		}
	}
	data, err := Format(s, comment...)
	if err != nil {
		return fmt.Errorf("write the scenario %s: %w", path, err)
	}
	if err := whole.Bytes(path, data); err != nil {
		return fmt.Errorf("write the scenario: %w", err)
	}
	return nil
}

// Format is the text of the scenario's file.
func Format(s Scenario, comment ...string) ([]byte, error) {
	f := file{Version: Version, Target: s.Target, Pace: s.Pace, Replicas: s.Replicas, Workload: s.Workload}
	f.Faults = formatFaults(s.Faults)
	for _, segment := range s.Segments {
		f.Segments = append(f.Segments, fileSegment{Pace: segment.Pace, Workload: segment.Workload, Faults: formatFaults(segment.Faults)})
	}
	body, err := yaml.MarshalWithOptions(f, yaml.UseSingleQuote(true), yaml.IndentSequence(true), yaml.OmitEmpty())
	if err != nil {
		return nil, fmt.Errorf("write a scenario as YAML: %w", err)
	}
	var b bytes.Buffer
	for _, line := range comment {
		b.WriteString(strings.TrimRight("# "+strings.ReplaceAll(line, "\n", " "), " ") + "\n")
	}
	b.Write(body)
	return b.Bytes(), nil
}

func (ff fileFault) fault() (faults.Fault, error) {
	f := faults.Fault{Then: faults.Then{Restart: ff.Then.Restart}}
	if clock, ok := strings.CutPrefix(ff.At, "clock "); ok {
		d, err := time.ParseDuration(strings.TrimSpace(clock))
		if err != nil {
			return f, fmt.Errorf("at: clock %q is not a time: want clock 120ms", clock)
		}
		f.Clock = d
	} else if ff.At == "" {
		return f, fmt.Errorf(`at: is missing: want a point, such as 'relay.0/postgres "update outbox" #1 unanswered', or clock 120ms`)
	} else {
		p, err := faults.ParsePoint(ff.At)
		if err != nil {
			return f, fmt.Errorf("at: %w", err)
		}
		f.At = &p
	}
	do, on, named := strings.Cut(ff.Do, " ")
	f.Do = faults.Kind(do)
	if named {
		on = strings.TrimSpace(on)
		var err error
		if strings.Contains(on, "/") {
			f.On, err = faults.ParseLink(on)
		} else {
			f.On.Instance, err = faults.ParseInstance(on)
		}
		if err != nil {
			return f, fmt.Errorf("do: %w", err)
		}
	}
	if ff.Until != "" {
		p, err := faults.ParsePoint(ff.Until)
		if err != nil {
			return f, fmt.Errorf("until: %w", err)
		}
		f.Until = &p
	}
	for _, d := range ff.Drop {
		p, err := faults.ParsePoint(d)
		if err != nil {
			return f, fmt.Errorf("drop: %w", err)
		}
		f.Drop = append(f.Drop, p)
	}
	return f, nil
}

func formatFaults(from []faults.Fault) (list []fileFault) {
	for _, f := range from {
		list = append(list, formatFault(f))
	}
	return list
}

func formatFault(f faults.Fault) fileFault {
	ff := fileFault{Do: string(f.Do), Then: fileThen{Restart: f.Then.Restart}}
	if f.At != nil {
		ff.At = f.At.String()
	} else {
		ff.At = "clock " + f.Clock.String()
	}
	switch {
	case f.On.Role == "":
	case f.On.Server == "":
		ff.Do += " " + f.On.Instance.String()
	default:
		ff.Do += " " + f.On.String()
	}
	if f.Until != nil {
		ff.Until = f.Until.String()
	}
	for _, p := range f.Drop {
		ff.Drop = append(ff.Drop, p.String())
	}
	return ff
}
