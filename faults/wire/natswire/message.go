package natswire

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/outboxtest/outboxtest/faults/wire/frame"
)

// message copies what the frame f with the control line l carries. Of a frame
// longer than [frame.MaxRead] the data ends early.
func message(l line, f []byte) *frame.Message {
	m := &frame.Message{Subject: string(l.fields[0])}
	numbers := 1
	if l.verb == hpub || l.verb == hmsg {
		numbers = 2
	}
	subjects := l.count - numbers
	if l.verb == msg || l.verb == hmsg {
		subjects-- // the subscription's id, behind the subject
	}
	if subjects == 2 {
		m.Reply = string(l.last(numbers))
	}
	body := f[min(l.size, len(f)):]
	body = body[:min(l.data, len(body))]
	if l.header > 0 {
		m.Header = parseHeader(body[:min(l.header, len(body))])
	}
	m.Data = bytes.Clone(body[min(l.header, len(body)):])
	return m
}

// headerVersion begins a block of headers.
const headerVersion = "NATS/1.0"

// parseHeader reads a block of headers, which ends with an empty line. Keys
// keep their case, as NATS compares them. A malformed block has no headers.
func parseHeader(b []byte) map[string][]string {
	first, rest, found := strings.Cut(string(b), "\r\n")
	if !found || !strings.HasPrefix(first, headerVersion) {
		return nil
	}
	header := map[string][]string{}
	for {
		var field string
		if field, rest, found = strings.Cut(rest, "\r\n"); !found {
			return nil
		}
		if field == "" {
			break
		}
		key, value, colon := strings.Cut(field, ":")
		if !colon || key == "" {
			return nil
		}
		header[key] = append(header[key], strings.Trim(value, " \t"))
	}
	if len(header) == 0 {
		return nil
	}
	return header
}

// statusOf is the status of an HMSG, "503" or "404 No Messages", or empty.
func statusOf(l line, f []byte) string {
	body := f[min(l.size, len(f)):]
	body = body[:min(l.header, len(body))]
	first, _, _ := bytes.Cut(body, []byte("\r\n"))
	rest, found := bytes.CutPrefix(first, []byte(headerVersion))
	if !found {
		return ""
	}
	status := bytes.Trim(rest, " \t")
	if len(status) < 3 || len(status) > 3 && status[3] != ' ' {
		return ""
	}
	if _, good := number(status[:3]); !good {
		return ""
	}
	return string(status)
}

// statusError is a status as an error.
func statusError(status string) string {
	code, text, _ := strings.Cut(status, " ")
	if text == "" {
		switch code {
		case "503":
			text = "no responders"
		case "404":
			text = "not found"
		case "408":
			text = "timeout"
		default:
			text = "status"
		}
	}
	return code + ": " + oneLine(text)
}

// oneLine makes s one printable line of valid UTF-8, of at most 400 bytes.
func oneLine(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == utf8.RuneError || r != ' ' && !unicode.IsPrint(r) {
			r = '_'
		}
		if b.Len()+utf8.RuneLen(r) > 400 {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}
