package harness

import (
	"fmt"
	"strings"

	"github.com/outboxtest/outboxtest/targets"
)

// sound checks a target before anything is started for it. A manifest of which
// only a part can be carried out is refused: half of it would be judged as if it
// were the whole.
func sound(t targets.Target) error {
	if err := t.Validate(); err != nil {
		return err
	}
	if keys := targets.Unsupported(t); len(keys) > 0 {
		return &InputError{fmt.Sprintf("%s: this version cannot carry out %s: leave it out, or use another way that docs/manifest.md shows", t.Name, strings.Join(keys, ", "))}
	}
	return nil
}
