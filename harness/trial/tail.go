package trial

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// tailShown is how much of the end of a log a person is shown, in bytes.
const tailShown = 2000

// tail is the end of the instance's log, for an error that a person reads.
func (in *instance) tail() string {
	in.mu.Lock()
	p := in.process
	in.mu.Unlock()
	if p != nil {
		// The file gets the end of a long log only with the process's own.
		return shown(filepath.Base(in.spec.Log), []byte(p.Tail()))
	}
	return logTail(in.spec.Log)
}

func logTail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		text = nil
	}
	return shown(filepath.Base(path), text)
}

func shown(name string, text []byte) string {
	if len(text) == 0 {
		return "its log is empty"
	}
	if len(text) > tailShown {
		text = text[len(text)-tailShown:]
		if _, whole, ok := bytes.Cut(text, []byte("\n")); ok {
			text = whole
		}
	}
	return fmt.Sprintf("the end of its log (%s):\n%s", name, text)
}
