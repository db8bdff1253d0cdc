package properties

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the length of the longest line of a history, in bytes, without
// its newline.
const MaxLine = 8 << 20

// Read reads a history, one JSON object a line, and owns nothing of r. It is
// strict: an unknown key, another version, a gap in the numbering, a line
// without the payload of its kind or longer than [MaxLine] is an error that
// names the line and the mend. A history that stops early is read as far as it
// goes: [Judge] says what that means.
func Read(r io.Reader) ([]Event, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var h []Event
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("history line %d: %w", n, err)
		}
		e, err := parseLine(line, n)
		if err != nil {
			return nil, fmt.Errorf("history line %d: %w", n, err)
		}
		h = append(h, e)
	}
	if len(h) == 0 {
		return nil, errors.New("history: it is empty; give the .jsonl file that a trial wrote")
	}
	return h, nil
}

// readLine returns the next line without its newline, and io.EOF at the end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(bytes.TrimSuffix(line, []byte("\n"))) > MaxLine {
			return nil, fmt.Errorf("longer than %d bytes; no trial writes that, use the file as the trial wrote it", MaxLine)
		}
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		default:
			return nil, fmt.Errorf("reading: %w", err)
		}
	}
}

func parseLine(line []byte, n int) (Event, error) {
	if len(bytes.TrimSpace(line)) == 0 {
		return Event{}, errors.New("empty; remove it, a history has one JSON object a line")
	}
	if n == 1 {
		// A later version may have keys that this one does not know: the
		// version is the better complaint.
		var first struct {
			Trial *struct {
				Version int `json:"version"`
			} `json:"trial"`
		}
		if json.Unmarshal(line, &first) == nil && first.Trial != nil && first.Trial.Version != Version {
			return Event{}, fmt.Errorf("version %d; this outboxtest reads version %d, use the one that wrote the file", first.Trial.Version, Version)
		}
	}
	var e Event
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return Event{}, fmt.Errorf("not an event of a history: %w; use the file as the trial wrote it", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Event{}, errors.New("something follows the JSON object; a history has one object a line")
	}
	if e.Seq != n {
		return Event{}, fmt.Errorf("seq is %d and should be %d: lines are missing or moved; use the whole file as the trial wrote it", e.Seq, n)
	}
	if err := shape(e); err != nil {
		return Event{}, err
	}
	if n == 1 && e.Kind != KindTrial {
		return Event{}, fmt.Errorf("the first event is %q and should be %q; use the whole file as the trial wrote it", e.Kind, KindTrial)
	}
	return e, nil
}

// shape reports an event that does not carry exactly the payload of its kind.
func shape(e Event) error {
	payloads := []struct {
		kind    Kind
		present bool
	}{
		{KindTrial, e.Trial != nil},
		{KindCall, e.Call != nil},
		{KindAnswer, e.Answer != nil},
		{KindWire, e.Wire != nil},
		{KindProcess, e.Process != nil},
		{KindFault, e.Fault != nil},
		{KindLedger, e.Ledger != nil},
		{KindDrain, e.Drain != nil},
		{KindProblem, e.Problem != ""},
		{KindSegment, e.Segment > 0},
		{KindStall, e.Stall != nil},
	}
	known := e.Kind == KindQuiesced || e.Kind == KindEnd
	for _, p := range payloads {
		switch {
		case p.kind == e.Kind && !p.present:
			return fmt.Errorf("an event of kind %q without its %q; use the file as the trial wrote it", e.Kind, string(p.kind))
		case p.kind != e.Kind && p.present:
			return fmt.Errorf("an event of kind %q with a %q, which belongs to another kind; use the file as the trial wrote it", e.Kind, string(p.kind))
		case p.kind == e.Kind:
			known = true
		}
	}
	if !known {
		return fmt.Errorf("kind %q is none of a history of version %d; use the outboxtest that wrote the file", e.Kind, Version)
	}
	return nil
}

// Write writes a history as [Read] reads it. An event that Read would refuse
// is an error, and so is a failing w; what was written until then stays.
func Write(w io.Writer, h []Event) error {
	out := bufio.NewWriter(w)
	var line bytes.Buffer
	encode := json.NewEncoder(&line)
	encode.SetEscapeHTML(false)
	if len(h) == 0 || h[0].Trial == nil || h[0].Trial.Version != Version {
		return fmt.Errorf("writing the history: it does not begin with a trial of version %d", Version)
	}
	for i, e := range h {
		if e.Seq != i+1 {
			return fmt.Errorf("writing event %d of the history: its seq is %d", i+1, e.Seq)
		}
		if err := shape(e); err != nil {
			return fmt.Errorf("writing event %d of the history: %w", i+1, err)
		}
		line.Reset()
		if err := encode.Encode(e); err != nil {
			return fmt.Errorf("writing event %d of the history: %w", i+1, err)
		}
		if line.Len()-1 > MaxLine {
			return fmt.Errorf("writing event %d of the history: %d bytes on one line, and %d are allowed; place fewer orders in one trial", i+1, line.Len()-1, MaxLine)
		}
		if _, err := out.Write(line.Bytes()); err != nil {
			return fmt.Errorf("writing event %d of the history: %w", i+1, err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the history: %w", err)
	}
	return nil
}
