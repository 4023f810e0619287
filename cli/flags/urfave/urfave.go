// Package urfave reads flags with github.com/urfave/cli.
package urfave

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/brineproject/brine/cli/flags"
)

var _ flags.Reader = Read

// Read is a [flags.Reader]. It declares only the flags that are present, because declaring flags is
// a large part of a short command's cost.
func Read(
	program string, list []flags.Flag, args []string,
) (values []any, rest []string, err error) {
	app := &cli.App{
		Name: program, HideHelp: true, HideVersion: true, DisableSliceFlagSeparator: true,
		Writer: io.Discard, ErrWriter: io.Discard, ExitErrHandler: func(*cli.Context, error) {},
		Action: func(c *cli.Context) error {
			for _, f := range list {
				values = append(values, value(f, c))
			}
			rest = c.Args().Slice()
			return nil
		},
	}
	for _, f := range list {
		app.Flags = append(app.Flags, declared(f))
	}
	if err := app.Run(append([]string{program}, args...)); err != nil {
		return nil, nil, fmt.Errorf("read arguments of %s: %w", program, err)
	}
	return values, rest, nil
}

func declared(f flags.Flag) cli.Flag {
	switch f.Kind {
	case flags.Truth:
		return &cli.BoolFlag{Name: f.Name, Usage: f.Usage}
	case flags.Int:
		return &cli.Int64Flag{Name: f.Name, Usage: f.Usage}
	case flags.Float:
		return &cli.Float64Flag{Name: f.Name, Usage: f.Usage}
	case flags.Texts:
		return &cli.StringSliceFlag{Name: f.Name, Usage: f.Usage, KeepSpace: true}
	}
	return &cli.StringFlag{Name: f.Name, Usage: f.Usage}
}

func value(f flags.Flag, c *cli.Context) any {
	switch f.Kind {
	case flags.Truth:
		return c.Bool(f.Name)
	case flags.Int:
		return c.Int64(f.Name)
	case flags.Float:
		return c.Float64(f.Name)
	case flags.Texts:
		list := []any{}
		for _, s := range c.StringSlice(f.Name) {
			list = append(list, s)
		}
		return list
	}
	return c.String(f.Name)
}
