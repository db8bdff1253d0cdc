package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/outboxtest/outboxtest/targets/mutants/savethensend"
	"github.com/outboxtest/outboxtest/targets/reference/polling"
)

// played are the roles of a correct outbox, and an app that loses events, as
// commands: a manifest of these tests starts them like any program, with what
// it wants around them. They are on the PATH, as outboxtest is.
func played() map[string]func() {
	return map[string]func(){
		"polling-app":      play(polling.App),
		"polling-relay":    play(polling.Relay),
		"polling-consumer": play(polling.Consumer),
		"losing-app":       play(savethensend.App),
	}
}

func play(role func(context.Context) error) func() {
	return func() {
		flood()
		if err := role(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// floodVariable says what a role writes besides what it has to say.
const floodVariable = "FLOOD"

// longLine is the length in bytes of a line that nobody should keep whole.
const longLine = 300 << 20

// flood writes as fast as it can until the process ends. Each write is whole:
// what the role answers is never cut in two by it.
func flood() {
	noise := func(out *os.File, text []byte) {
		go func() {
			for {
				if _, err := out.Write(text); err != nil {
					return
				}
			}
		}()
	}
	switch os.Getenv(floodVariable) {
	case "stderr":
		noise(os.Stderr, bytes.Repeat([]byte("a line of a very noisy log\n"), 2000))
	case "stdout":
		// Lines that are nearly answers among others that are not.
		noise(os.Stdout, bytes.Repeat([]byte("starting\n\n{\"id\":1}\n{\"ok\":true\n[1]\nnull\n{\"id\":\"1\",\"ok\":true}\n{\"id\":99,\"ok\":false}\n\x00\xff\n"), 300))
	case "line":
		// To its end before the first answer.
		part := bytes.Repeat([]byte("x"), 1<<20)
		for range longLine / len(part) {
			_, _ = os.Stdout.Write(part)
		}
		_, _ = os.Stdout.WriteString("\n")
	}
}

// pollingSchema is the path of the schema that these roles need.
func pollingSchema(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../targets/reference/polling/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
