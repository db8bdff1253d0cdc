package report

import "github.com/outboxtest/outboxtest/properties"

// paint colours words for a terminal, if it may.
type paint bool

const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

func (p paint) with(colour, text string) string {
	if !p {
		return text
	}
	return colour + text + plain
}

func (p paint) verdict(v properties.Verdict, text string) string {
	switch v {
	case properties.Pass:
		return p.with(green, text)
	case properties.Fail:
		return p.with(red, text)
	}
	return p.with(yellow, text)
}

// Mark colours a text like a verdict, for a terminal, if it may.
func Mark(v properties.Verdict, text string, color bool) string { return paint(color).verdict(v, text) }
