package parts

import (
	"fmt"
	"os"

	"github.com/outboxtest/outboxtest/targets"
)

// setting reads a variable that the harness sets for every role.
func setting(name string) (string, error) {
	value := os.Getenv(name)
	if value == "" {
		return "", fmt.Errorf("%s is not set: the harness sets it for every role", name)
	}
	return value, nil
}

// instance names this process on its connections.
func instance() string { return os.Getenv(targets.EnvInstance) }
