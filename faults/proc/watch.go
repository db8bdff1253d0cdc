package proc

import "bytes"

// lineWatch takes an output as it comes and tells its lines, at most MaxLine
// bytes of each.
type lineWatch struct {
	tell func(line string)
	held []byte // the line that has not ended yet
	any  bool   // it has begun, though it may be empty
}

// Write never fails: whoever reads the output must not be held up by it.
func (w *lineWatch) Write(p []byte) (int, error) {
	whole := len(p)
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte{'\n'})
		w.any = true
		w.held = append(w.held, part[:min(len(part), MaxLine-len(w.held))]...)
		if ended {
			w.end()
		}
		p = rest
	}
	return whole, nil
}

// end tells the line that is held, if there is one.
func (w *lineWatch) end() {
	if w.any {
		w.tell(string(bytes.TrimSuffix(w.held, []byte{'\r'})))
	}
	w.held, w.any = w.held[:0], false
}
