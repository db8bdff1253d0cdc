package harness

import (
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/outboxtest/outboxtest/harness/report"
	"github.com/outboxtest/outboxtest/properties"
)

// result sums up.
func (r *run) result(took time.Duration) Result {
	f := r.findings
	out := Result{
		Version: report.Version, Target: r.target.Name, Verdict: properties.Pass,
		Seed: r.options.Seed, Seconds: took.Seconds(), Trials: f.trials,
		Environment: r.environment(), Why: f.other.told(), Blame: f.blame, Explored: r.explored, PlanDigest: r.digest,
	}
	if r.options.Shard.Of > 0 {
		shard := r.options.Shard
		out.Shard = &shard
	}
	if r.coverage != nil {
		out.Matrix = r.coverage.matrix(r.ended())
	}
	out.Count()
	if r.target.Ref != "" {
		out.Target = r.target.Ref
	}
	if took > 0 {
		out.TrialsPerSecond = float64(f.trials) / took.Seconds()
	}
	// What comes back every time is what a person wants to begin with.
	slices.SortStableFunc(f.list, func(a, b *finding) int { return a.violation.Reproduced.Compare(b.violation.Reproduced) })
	for _, name := range f.order {
		p := report.Property{Name: name, Claimed: f.claimed[name], Verdict: f.verdict[name], Why: f.why[name].told(), Violations: []report.Violation{}}
		for _, x := range f.list {
			if x.property == name {
				if !x.refined {
					x.violation.Unshrunk = r.ended()
				}
				p.Violations = append(p.Violations, *x.violation)
			}
		}
		if p.Claimed {
			out.Verdict = out.Verdict.Worse(p.Verdict)
		}
		out.Properties = append(out.Properties, p)
	}
	if len(out.Why) > 0 || !out.Complete() {
		out.Verdict = out.Verdict.Worse(properties.UnknownResult)
	}
	return out
}

// ended is why the cells whose turn never came had none.
func (r *run) ended() string {
	if r.interrupted {
		return report.ReasonInterrupted
	}
	return report.ReasonStopped
}

func (r *run) environment() report.Environment {
	e := report.Environment{Harness: harnessVersion(), OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Jobs: len(r.jobs)}
	if len(r.session.stacks) > 0 {
		e.Postgres, e.Broker = r.session.stacks[0].Postgres.Version(), r.session.stacks[0].Broker.Version()
	}
	return e
}

func harnessVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}
