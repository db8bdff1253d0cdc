package proc

import (
	"bytes"
	"slices"
)

const mask = "***"

// redactor replaces secrets in a stream, also where a secret is split between
// two writes. It holds back what may be the beginning of one.
type redactor struct {
	secrets [][]byte
	held    []byte
}

func newRedactor(secrets []string) redactor {
	var r redactor
	for _, s := range secrets {
		if s != "" {
			r.secrets = append(r.secrets, []byte(s))
		}
	}
	// Of two that begin at one place the longer is replaced.
	slices.SortFunc(r.secrets, func(a, b []byte) int { return len(b) - len(a) })
	return r
}

// push returns what can be shown after p arrived. The result is valid until the
// next call.
func (r *redactor) push(p []byte) []byte {
	if len(r.secrets) == 0 {
		return p
	}
	in := slices.Concat(r.held, p)
	hold := r.unsure(in)
	out, rest := r.replace(in, hold)
	r.held = rest
	return out
}

// flush returns what was held back.
func (r *redactor) flush() []byte {
	out, _ := r.replace(r.held, len(r.held))
	r.held = nil
	return out
}

// replace masks the secrets that begin before end, and returns what is after
// them or from end on as the rest.
func (r *redactor) replace(in []byte, end int) (out, rest []byte) {
	for {
		at, length := -1, 0
		for _, s := range r.secrets {
			if i := bytes.Index(in, s); i >= 0 && i < end && (at < 0 || i < at) {
				at, length = i, len(s)
			}
		}
		if at < 0 {
			return append(out, in[:end]...), in[end:]
		}
		out = append(append(out, in[:at]...), mask...)
		in = in[at+length:]
		end = max(end-at-length, 0)
	}
}

// unsure is where the earliest suffix begins that may grow into a secret.
func (r *redactor) unsure(in []byte) int {
	earliest := len(in)
	for _, s := range r.secrets {
		for n := min(len(s)-1, len(in)); n > 0; n-- {
			if bytes.HasPrefix(s, in[len(in)-n:]) {
				earliest = min(earliest, len(in)-n)
				break
			}
		}
	}
	return earliest
}
