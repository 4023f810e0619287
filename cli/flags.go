//go:build !small

package cli

import (
	"fmt"
	"io"

	urfave "github.com/urfave/cli/v2"

	"github.com/brineproject/brine/data"
)

// readFlags reads canonical arguments with these options among them: the values by dest, and the arguments that are no
// options. Only flags that are there are declared, because urfave's cost for each is a good part of a short command's.
func readFlags(p *program, options []*option, args []string) (given *data.Map, rest []string, err error) {
	given = &data.Map{}
	app := &urfave.App{
		Name: p.name, Flags: flags(options), HideHelp: true, HideVersion: true, DisableSliceFlagSeparator: true,
		Writer: io.Discard, ErrWriter: io.Discard, ExitErrHandler: func(*urfave.Context, error) {},
		Action: func(c *urfave.Context) error {
			for _, o := range options {
				given.Set(o.dest, o.flagValue(c))
			}
			rest = c.Args().Slice()
			return nil
		},
	}
	if err := app.Run(append([]string{p.name}, args...)); err != nil {
		return nil, nil, fmt.Errorf("read arguments of %s: %w", p.name, err)
	}
	return given, rest, nil
}

func flags(options []*option) []urfave.Flag {
	var list []urfave.Flag
	for _, o := range options {
		list = append(list, o.flag())
	}
	return list
}

func (o *option) flag() urfave.Flag {
	switch o.kind {
	case boolean, negated:
		return &urfave.BoolFlag{Name: o.long(), Usage: o.help}
	case integer:
		return &urfave.Int64Flag{Name: o.long(), Usage: o.help}
	case real:
		return &urfave.Float64Flag{Name: o.long(), Usage: o.help}
	case repeated:
		return &urfave.StringSliceFlag{Name: o.long(), Usage: o.help}
	}
	return &urfave.StringFlag{Name: o.long(), Usage: o.help}
}

func (o *option) flagValue(c *urfave.Context) any {
	switch o.kind {
	case boolean:
		return true
	case negated:
		return false
	case integer:
		return c.Int64(o.long())
	case real:
		return c.Float64(o.long())
	case repeated:
		list := []any{}
		for _, s := range c.StringSlice(o.long()) {
			list = append(list, s)
		}
		return list
	}
	return c.String(o.long())
}
