package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// columns is the width that the text is made for.
const columns = 100

// printable replaces what a terminal would take for a command: texts hold what
// targets and servers said.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// Fold makes a text printable and breaks it at spaces into lines of at most 100
// columns, each indented; every line but the first by two more. A word that is
// longer than a line stays whole.
func Fold(indent, text string) []string {
	var lines []string
	line, width := indent, len(indent)
	for _, word := range strings.Fields(printable(text)) {
		n := utf8.RuneCountInString(word)
		if strings.TrimSpace(line) != "" {
			if width+1+n > columns {
				lines = append(lines, line)
				line, width = indent+"  ", len(indent)+2
			} else {
				line, width = line+" ", width+1
			}
		}
		line, width = line+word, width+n
	}
	return append(lines, line)
}

// shellWord is a path as a shell reads it back.
func shellWord(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("./_-+:@%,", r)
	}
	if path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0 {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
