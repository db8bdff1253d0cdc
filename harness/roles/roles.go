// Package roles holds what runs in our own binary when it is started again as
// a role: the names by which a child knows what it is, and the two roles that
// the harness plays itself, the app that runs a manifest's SQL and the
// deduplicating consumer.
package roles

import (
	"encoding/json"
	"fmt"
	"os"
)

// Variable names the role in the environment of a child that is our own binary
// started again.
const Variable = "OUTBOXTEST_ROLE"

// SettingsVariable holds a role's settings, as JSON.
const SettingsVariable = "OUTBOXTEST_SETTINGS"

// The names of the harness's own roles.
const (
	Guard    = "harness/guard"
	SQLApp   = "harness/sql-app"
	Consumer = "harness/consumer"
)

// Target is the name of a target's role that is a Go function.
func Target(target, role string) string { return "target/" + target + "/" + role }

// settings reads the role's settings from the environment.
func settings[T any]() (T, error) {
	var s T
	if err := json.Unmarshal([]byte(os.Getenv(SettingsVariable)), &s); err != nil {
		return s, fmt.Errorf("read %s: %w", SettingsVariable, err)
	}
	return s, nil
}
