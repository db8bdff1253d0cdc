package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/outboxtest/outboxtest/harness/trial"
	"github.com/outboxtest/outboxtest/targets"
)

// phaseBuild is the phase of the build commands.
const phaseBuild = "build"

// build runs the target's build commands, once a session: what a run and the
// replays beside it use is one build.
func (s *Session) build(ctx context.Context, target targets.Target, progress func(Progress)) error {
	if len(target.Build) == 0 {
		return nil
	}
	text, err := json.Marshal(target.Build)
	if err != nil {
		return fmt.Errorf("write down the build: %w", err)
	}
	key := target.Dir + " " + string(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.built[key] {
		return nil
	}
	err = trial.Build(ctx, target, s.guard, filepath.Join(s.dir, "build"), func(done, total int) {
		if progress != nil {
			progress(Progress{Phase: phaseBuild, Done: done, Total: total})
		}
	})
	s.built[key] = err == nil
	return err
}
