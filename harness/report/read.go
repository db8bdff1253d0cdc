package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/outboxtest/outboxtest/properties"
)

// ResultFile and CoverageFile are what a run always leaves in its folder.
const (
	ResultFile   = "result.json"
	CoverageFile = "coverage.txt"
)

// MaxShards bounds the parts of a run: each records its own fault-free runs, so
// that more would only record.
const MaxShards = 1000

// Read reads the JSON object of a run. What it returns can be counted, merged
// and written again; an error says what is wrong with it.
func Read(in io.Reader) (Result, error) {
	var r Result
	d := json.NewDecoder(in)
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("this is no JSON object of a run: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("there is more behind the JSON object of a run")
	}
	switch {
	case r.Version == 0 || r.Target == "":
		return r, errors.New("this is no result of one target: it names no version or no target (a demo's result holds several)")
	case r.Version != Version:
		return r, fmt.Errorf("it has version %d, and this harness reads version %d", r.Version, Version)
	}
	return r, r.check()
}

func (r Result) check() error {
	if !slices.Contains([]properties.Verdict{properties.Pass, properties.Fail, properties.UnknownResult}, r.Verdict) {
		return fmt.Errorf("its verdict is %q: want pass, fail or unknown", r.Verdict)
	}
	if s := r.Shard; s != nil && (s.Index < 1 || s.Index > s.Of || s.Of > MaxShards) {
		return fmt.Errorf("its shard is %s: want one from 1/N to N/N, of at most %d", s, MaxShards)
	}
	if len(r.Matrix) == 0 && r.Points.Total > 0 {
		return errors.New("it counts cells and lists none: it was written by an outboxtest that kept no matrix")
	}
	for _, row := range r.Matrix {
		for _, c := range row.Cells {
			if !slices.Contains([]Status{Exercised, Violated, NotReached, NotApplicable, NotTried}, c.Status) || momentPlace(c.Moment) < 0 {
				return fmt.Errorf("its matrix has a cell %q that is %q: no such moment or status", row.Text(c), c.Status)
			}
		}
	}
	return r.agree()
}

// agree says where a verdict contradicts what it is the sum of: somebody, or a
// copy cut short, has changed the file.
func (r Result) agree() error {
	worst := properties.Pass
	for _, p := range r.Properties {
		if !slices.Contains([]properties.Verdict{properties.Pass, properties.Fail, properties.UnknownResult}, p.Verdict) {
			return fmt.Errorf("its property %s is %q: want pass, fail or unknown", p.Name, p.Verdict)
		}
		if p.Claimed {
			worst = worst.Worse(p.Verdict)
		}
	}
	switch {
	case r.Trials < 0 || r.Seconds < 0:
		return errors.New("it counts less than no trials or time")
	case worst != properties.Pass && r.Verdict != worst && r.Verdict != properties.Fail:
		return fmt.Errorf("its verdict is %s, and a property that the target claims is %s", r.Verdict, worst)
	case r.Verdict == properties.Fail && worst != properties.Fail:
		return errors.New("its verdict is fail, and no property that the target claims is")
	case len(r.Matrix) > 0 && r.PlanDigest == "":
		return errors.New("it lists cells and has no plan_digest: it was written by another outboxtest")
	case r.Verdict != properties.Pass:
		return nil
	case len(r.Properties) == 0:
		return errors.New("its verdict is pass, and no property was judged")
	}
	for _, row := range r.Matrix {
		for _, c := range row.Cells {
			stopped := c.Status == NotTried && (c.Reason == ReasonStopped || c.Reason == ReasonInterrupted)
			if c.Status == Violated || c.Status == NotReached || c.Status == Exercised && c.Reason != "" || stopped {
				return fmt.Errorf("its verdict is pass, and its cell %q is %s (%s)", row.Text(c), c.Status, c.Reason)
			}
		}
	}
	return nil
}

// ReadFile reads the result at path: a file, or the folder of a run. The paths
// of its violations are those of the folder's own files where they are there: a
// folder may have travelled since.
func ReadFile(path string) (Result, error) {
	file, folder := path, filepath.Dir(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		file, folder = filepath.Join(path, ResultFile), path
	}
	in, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) && file != path {
		return Result{}, fmt.Errorf("%s is the folder of no run that came to an end: there is no %s in it", path, ResultFile)
	}
	if err != nil {
		return Result{}, fmt.Errorf("read a result: %w", err)
	}
	defer in.Close()
	r, err := Read(in)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", file, err)
	}
	for _, p := range r.Properties {
		for i := range p.Violations {
			p.Violations[i].Scenario = moved(p.Violations[i].Scenario, folder)
			p.Violations[i].History = moved(p.Violations[i].History, folder)
		}
	}
	return r, nil
}

// moved is where a file of a run is now.
func moved(path, folder string) string {
	here := filepath.Join(folder, "failures", filepath.Base(path))
	if _, err := os.Stat(here); path != "" && err == nil {
		return here
	}
	return path
}
