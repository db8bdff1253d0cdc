// Package whole writes files that are there whole or not at all.
package whole

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// part ends the name of a file that is not written to its end.
const part = ".part"

// File writes the file at path: under another name in the same folder, which then
// takes the place of what was there. After an error that is still there, and
// nothing else is. The error is an [*Error]. Two writers of one path
// at the same time are not kept apart.
func File(path string, write func(io.Writer) error) error {
	err := file(path+part, write)
	if err == nil {
		err = os.Rename(path+part, path)
	}
	if err != nil {
		return errors.Join(failure(path, err), remove(path+part))
	}
	return nil
}

// Bytes writes a file of this content, in the same way.
func Bytes(path string, content []byte) error {
	return File(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

func file(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	if err := write(b); err != nil {
		f.Close()
		return err
	}
	if err := b.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Folder copies a folder to path, in the same way.
func Folder(path, from string) error {
	if from == "" {
		return &Error{path, errors.New("what it is a copy of is not there any more")}
	}
	err := remove(path + part)
	if err == nil {
		err = os.CopyFS(path+part, os.DirFS(from))
	}
	if err == nil {
		err = remove(path)
	}
	if err == nil {
		err = os.Rename(path+part, path)
	}
	if err != nil {
		return errors.Join(failure(path, err), remove(path+part))
	}
	return nil
}

func remove(path string) error {
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove: %w", failure(path, err))
	}
	return nil
}

// Error says that there is nothing new at a path, and why.
type Error struct {
	Path   string
	Reason error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Reason) }
func (e *Error) Unwrap() error { return e.Reason }

// failure leaves out the name of the part, which means nothing to a reader.
func failure(path string, err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		err = at.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &Error{path, err}
}
