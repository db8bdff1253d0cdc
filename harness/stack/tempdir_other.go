//go:build !linux

package stack

import "os"

// TempDir is the best place for the folder of a stack.
func TempDir() string { return os.TempDir() }
