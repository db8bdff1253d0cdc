package parts

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestServe(t *testing.T) {
	defer goleak.VerifyNone(t)
	in := `{"id":1,"op":"place","order":"o1","customer":"c1"}
{"id":2,"op":"abort","order":"o2","customer":"c1"}
`
	var out bytes.Buffer
	err := Serve(t.Context(), strings.NewReader(in), &out, func(_ context.Context, r Request) error {
		if r.Op == OpAbort {
			return errors.New("o2: \"no\"\n")
		}
		if r.Order != "o1" || r.Customer != "c1" {
			t.Errorf("got %+v", r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(lines)
	want := []string{`{"id":1,"ok":true}`, `{"id":2,"ok":false,"error":"o2: \"no\"\n"}`}
	if !slices.Equal(lines, want) {
		t.Errorf("got %q", lines)
	}
}

// TestServeOverlaps: the first request is answered only after the second.
func TestServeOverlaps(t *testing.T) {
	defer goleak.VerifyNone(t)
	second := make(chan struct{})
	var out bytes.Buffer
	err := Serve(t.Context(), strings.NewReader("{\"id\":1}\n{\"id\":2}\n"), &out, func(_ context.Context, r Request) error {
		if r.ID == 2 {
			close(second)
		}
		<-second
		return nil
	})
	if err != nil || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

func TestServeRefusesNoise(t *testing.T) {
	defer goleak.VerifyNone(t)
	handle := func(context.Context, Request) error { return nil }
	err := Serve(t.Context(), strings.NewReader("hello\n"), io.Discard, handle)
	if err == nil || !strings.Contains(err.Error(), "standard input") {
		t.Errorf("a line that is no request: %v", err)
	}
	err = Serve(t.Context(), strings.NewReader(strings.Repeat("x", longestLine+1)), io.Discard, handle)
	if err == nil {
		t.Error("an endless line was taken")
	}
}

// TestTranscript replays the transcript of docs/stdio.md: every answer in it is
// what this app would write.
func TestTranscript(t *testing.T) {
	doc, err := os.ReadFile("../../../../docs/stdio.md")
	if err != nil {
		t.Fatal(err)
	}
	var in strings.Builder
	var want []string
	for line := range strings.Lines(string(doc)) {
		if request, ok := strings.CutPrefix(line, "harness> "); ok {
			in.WriteString(request)
		}
		if answer, ok := strings.CutPrefix(line, "app>     "); ok {
			want = append(want, strings.TrimSpace(answer))
		}
	}
	if len(want) < 3 {
		t.Fatalf("the transcript has %d answers", len(want))
	}
	var out bytes.Buffer
	err = Serve(t.Context(), strings.NewReader(in.String()), &out, func(_ context.Context, r Request) error {
		if r.Order == "o4" {
			return errors.New("insert the order: conn closed")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, the page says %q", got, want)
	}
}
