//go:build linux

package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestFlood(t *testing.T) {
	const lines = 200_000
	path := filepath.Join(t.TempDir(), "log")
	p := begin(t, Spec{
		Name: "flood", Argv: []string{self(t)}, Env: playing("flood", fmt.Sprint("PROC_TEST_LINES=", lines)),
		Log: path, MaxLog: 10_000, Secrets: []string{"secret-word"}, Stdout: true,
	})
	// It says so only when all of its flood on standard error was taken.
	if line, err := p.ReadLine(t.Context()); err != nil || line.Text != "flooded" {
		t.Fatalf("got %q, %v", line.Text, err)
	}
	// Unread, the lines of its standard output block it, and it is still killed.
	eventually(t, "the queue to be full", func() bool {
		p.lines.mu.Lock()
		defer p.lines.mu.Unlock()
		return len(p.lines.waiting) == maxWaitingLines
	})
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		line, err := p.ReadLine(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		// The kill may fall inside the last line.
		if want := fmt.Sprint("out ", n); !strings.HasPrefix(want, line.Text) {
			t.Fatalf("got %q, want %q", line.Text, want)
		}
		n++
	}
	if n == 0 || n == lines {
		t.Errorf("%d of %d lines came out of an unread pipe", n, lines)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log := string(text)
	if len(log) > 10_100 || !strings.HasPrefix(log, "line 0 ***\n") || !strings.HasSuffix(log, fmt.Sprintf("line %d ***\n", lines-1)) {
		t.Errorf("a log of %d bytes from %.20q to %q", len(log), log, log[len(log)-30:])
	}
	if strings.Contains(log, "secret-word") {
		t.Error("the secret is in the log")
	}
	if !strings.Contains(log, " bytes left out ...\nline ") {
		t.Error("it does not say at the start of a line what was left out")
	}
	if !strings.HasSuffix(p.Tail(), fmt.Sprintf("line %d ***\n", lines-1)) {
		t.Error("the tail is not the end")
	}
}

func TestEverythingIsReadWithoutABound(t *testing.T) {
	const lines = 50_000
	p := begin(t, Spec{
		Name: "flood", Argv: []string{self(t)}, Env: playing("flood", fmt.Sprint("PROC_TEST_LINES=", lines)), Stdout: true,
	})
	n := -1
	for range p.Lines() {
		n++
	}
	<-p.Done()
	if n != lines {
		t.Errorf("%d lines, want %d", n, lines)
	}
	if got := p.State(); got.Signal != "terminated" {
		t.Errorf("state %v", got)
	}
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	in := bufio.NewReaderSize(strings.NewReader("a\r\n\n"+long+"yz\n"+long+"\nb\nend"), 4096)
	for _, want := range []struct {
		text string
		cut  bool
		err  error
	}{{"a", false, nil}, {"", false, nil}, {long, true, nil}, {long, false, nil}, {"b", false, nil}, {"end", false, io.EOF}} {
		got, err := readLine(in)
		if got.Text != want.text || got.Cut != want.cut || !errors.Is(err, want.err) {
			t.Errorf("got %.10q (%d) %v %v, want %.10q %v %v", got.Text, len(got.Text), got.Cut, err, want.text, want.cut, want.err)
		}
	}
}

func TestReadLineUnasked(t *testing.T) {
	p := begin(t, Spec{Name: "x", Argv: []string{"true"}})
	if _, err := p.ReadLine(t.Context()); err == nil {
		t.Error("a line came from nowhere")
	}
	if p.Stdin() != nil {
		t.Error("a standard input that nobody asked for")
	}
}

func TestRedact(t *testing.T) {
	secrets := []string{"abc", "abcdef", "zzz", ""}
	for in, want := range map[string]string{
		"":                  "",
		"nothing":           "nothing",
		"abc":               "***",
		"abcdef":            "***",
		"abcde":             "***de",
		"ababcab":           "ab***ab",
		"xabcabcdefzzzzabx": "x*********zabx",
	} {
		for split := range len(in) + 1 {
			r := newRedactor(secrets)
			got := string(r.push([]byte(in[:split]))) + string(r.push([]byte(in[split:]))) + string(r.flush())
			if got != want {
				t.Errorf("%q split at %d: got %q, want %q", in, split, got, want)
			}
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("user:hunter2@host", uint64(3))
	f.Add("hunter2hunterhunter22", uint64(9))
	f.Fuzz(func(t *testing.T, in string, seed uint64) {
		in = strings.ReplaceAll(in, "a", "hunter2")
		r := newRedactor([]string{"hunter2", "hunter", "er2h"})
		random := rand.New(rand.NewPCG(seed, 0))
		var out strings.Builder
		for rest := in; rest != ""; {
			n := random.IntN(len(rest)) + 1
			out.Write(r.push([]byte(rest[:n])))
			rest = rest[n:]
		}
		out.Write(r.flush())
		whole := newRedactor([]string{"hunter2", "hunter", "er2h"})
		if want := string(whole.push([]byte(in))) + string(whole.flush()); out.String() != want {
			t.Errorf("in pieces %q, whole %q", out.String(), want)
		}
	})
}

func TestLogKeepsBothEnds(t *testing.T) {
	for size := range 60 {
		for chunk := 1; chunk < 40; chunk += 3 {
			path := filepath.Join(t.TempDir(), "log")
			l, err := openLog(path, 20, nil)
			if err != nil {
				t.Fatal(err)
			}
			in := ""
			for i := range size {
				in += string(rune('0' + i%10))
			}
			for rest := in; rest != ""; {
				n := min(chunk, len(rest))
				_, _ = l.Write([]byte(rest[:n]))
				rest = rest[n:]
				if got, want := l.Tail(), in[:len(in)-len(rest)]; got != want[max(0, len(want)-10):] {
					t.Fatalf("tail %q of %q", got, want)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := in
			if size > 20 {
				want = fmt.Sprintf("%s\n... %d bytes left out ...\n%s", in[:10], size-20, in[size-10:])
			}
			if string(text) != want {
				t.Fatalf("%d bytes in chunks of %d: got %q, want %q", size, chunk, text, want)
			}
		}
	}
}
