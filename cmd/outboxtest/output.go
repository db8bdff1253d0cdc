package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// output is where the text and the JSON object of a command go.
type output struct {
	text  io.Writer
	color bool
	json  io.Writer // nil when it goes to a file, or nowhere
	file  string
}

// output opens what --json asks for. A file is checked now, before a long run,
// and written when there is something to write.
func (a *app) output(file string) (output, error) {
	switch file {
	case "":
		return output{text: a.out, color: color(a.outIsTerminal)}, nil
	case "-":
		return output{text: a.errOut, color: color(a.errIsTerminal), json: a.out}, nil
	}
	dir := filepath.Dir(file)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return output{}, badInput("--json %s: there is no folder %s; make it first", file, dir)
	}
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return output{}, badInput("--json %s is a folder; name a file in it", file)
	}
	return output{text: a.out, color: color(a.outIsTerminal), file: file}, nil
}

// object writes v as the JSON object that was asked for, if it was.
func (o output) object(v any) error {
	if o.json == nil && o.file == "" {
		return nil
	}
	text, err := jsonText(v)
	if err != nil {
		return err
	}
	if o.file != "" {
		if err := os.WriteFile(o.file, text, 0o644); err != nil {
			return fmt.Errorf("write the result as JSON: %w", err)
		}
		return nil
	}
	if _, err := o.json.Write(text); err != nil {
		return fmt.Errorf("write the result as JSON to standard output: %w", err)
	}
	return nil
}

func jsonText(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the result as JSON: %w", err)
	}
	return append(cellsOnOneLine(text), '\n'), nil
}

// cellsOnOneLine joins the lines of each cell of a matrix: there are hundreds of
// them, and they are read below each other.
func cellsOnOneLine(text []byte) []byte {
	var out []byte
	inCell := false
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		words := bytes.TrimLeft(line, " ")
		opens := string(words) == "{" && i+1 < len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[i+1], " "), []byte(`"moment":`))
		switch {
		case inCell && bytes.HasPrefix(words, []byte("}")):
			out, inCell = append(out, words...), false
		case inCell && out[len(out)-1] == ',':
			out = append(append(out, ' '), words...)
		case inCell:
			out = append(out, words...)
		default:
			if i > 0 {
				out = append(out, '\n')
			}
			out, inCell = append(out, line...), opens
		}
	}
	return out
}
