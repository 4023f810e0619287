// Package local is Salt's returner of that name (salt/returners/local.py): it prints returns or
// events to the program's standard output, as Python prints them.
package local

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/returners"
)

// Name is the returner's name.
const Name = "local"

const doc = `
    Print the return data to the terminal to verify functionality

    CLI Example:

        salt '*' test.ping --return local
    `

// Plugin returns the returner for a minion.
func Plugin() loader.Plugin {
	return loader.Plugin{Name: Name, New: func(*loader.Env) (*loader.Module, error) {
		return returners.Module(doc, &printer{os.Stdout}), nil
	}}
}

// OpenEvents returns an EventReturner that prints events.
func OpenEvents() returners.EventReturner { return &printer{os.Stdout} }

type printer struct{ to io.Writer }

// Return prints a return.
func (p *printer) Return(_ context.Context, ret *data.Map) error {
	_, err := fmt.Fprintln(p.to, data.Repr(returners.Passed(ret)))
	return err
}

// ReturnEvents prints a list of events.
func (p *printer) ReturnEvents(_ context.Context, events []returners.Event) error {
	list := make([]any, len(events))
	for i, e := range events {
		list[i] = data.NewMap("data", e.Data, "tag", e.Tag)
	}
	_, err := fmt.Fprintln(p.to, data.Repr(list))
	return err
}

// Close does nothing.
func (p *printer) Close() error { return nil }
