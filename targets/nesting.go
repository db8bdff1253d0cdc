package targets

import "bytes"

// Deepest bounds how deep lists and mappings may be in each other in a file. The
// parser takes long for each level, and calls itself. A manifest or a scenario has
// fewer than ten.
const Deepest = 100

// TooDeep looks, before a parser takes a YAML text, whether it has more lists and
// mappings in each other than [Deepest], and where. It counts the brackets outside of
// quotes and comments, and the dashes at the head of a line: what it refuses nobody
// writes, and what it lets pass may still not be YAML.
func TooDeep(text []byte) (line, column int, deep bool) {
	depth := 0
	quote := byte(0)
	for line = 1; len(text) > 0; line++ {
		var now []byte
		now, text, _ = bytes.Cut(text, []byte("\n"))
		if quote == 0 && dashes(now) > Deepest {
			return line, 1, true
		}
		for i := 0; i < len(now); i++ {
			c := now[i]
			begins := i == 0 || bytes.IndexByte([]byte(" \t[{,:"), now[i-1]) >= 0
			switch {
			case quote == '"' && c == '\\', quote == '\'' && c == quote && i+1 < len(now) && now[i+1] == quote:
				i++ // what comes next is of the text
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case (c == '"' || c == '\'') && begins:
				quote = c
			case c == '#' && (i == 0 || now[i-1] == ' ' || now[i-1] == '\t'):
				i = len(now)
			case c == '[' || c == '{':
				if depth++; depth > Deepest {
					return line, i + 1, true
				}
			case c == ']' || c == '}':
				depth = max(0, depth-1)
			}
		}
	}
	return 0, 0, false
}

// dashes counts the lists, and the complex keys, that begin at the head of a line.
func dashes(line []byte) (n int) {
	for _, c := range line {
		switch c {
		case '-', '?':
			n++
		case ' ', '\t':
		default:
			return n
		}
	}
	return n
}
