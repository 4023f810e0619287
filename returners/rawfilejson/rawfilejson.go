// Package rawfilejson is Salt's returner rawfile_json (salt/returners/rawfile_json.py): it appends
// returns or events as JSON to a file, one per line.
//
// Option rawfile_json.filename names the file (/var/log/salt/events). The submitter of a job cannot
// choose it. Salt takes it from ret_kwargs, so that anybody who may run a function can write to any
// file.
package rawfilejson

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/returners"
)

// Name is the returner's name.
const Name = "rawfile_json"

const doc = `
    Write the return data to a file on the minion.

    CLI Example:

        salt '*' test.ping --return rawfile_json
    `

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(env *loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &file{returners.EnvSource(env)}), nil
	}}
}

// OpenEvents returns an EventReturner for a master with these options.
func OpenEvents(opts *data.Map) returners.EventReturner { return &file{returners.MapSource(opts)} }

type file struct{ from returners.Source }

// Return appends a line.
func (f *file) Return(_ context.Context, ret *data.Map) error {
	line, err := output.JSON(returners.Decoded(data.Clone(returners.Passed(ret))))
	if err != nil {
		return fmt.Errorf("%w: %w", returners.ErrRefused, err)
	}
	return f.write(ret, line+"\n")
}

// ReturnEvents appends a line for each event.
func (f *file) ReturnEvents(_ context.Context, events []returners.Event) error {
	lines := ""
	for _, e := range events {
		line, err := output.JSON(data.NewMap("data", returners.Decoded(data.Clone(e.Data)),
			"tag", e.Tag))
		if err != nil {
			return fmt.Errorf("event %q: %w: %w", e.Tag, returners.ErrRefused, err)
		}
		lines += line + "\n"
	}
	if lines == "" {
		return nil
	}
	return f.write(nil, lines)
}

// Close does nothing.
func (f *file) Close() error { return nil }

// write appends text in one call, so that lines of several writers do not mix. A pipe without a
// reader is an error.
func (f *file) write(ret *data.Map, text string) error {
	name := f.from.Read(ret, []returners.Setting{{Name: "filename", Default: "/var/log/salt/events",
		Fixed: true}}, Name).Text("filename")
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("open the file of rawfile_json.filename: %w", err)
	}
	_, err = out.WriteString(text)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("write to the file of rawfile_json.filename: %w", err)
	}
	return nil
}
