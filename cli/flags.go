package cli

import "github.com/brineproject/brine/cli/flags"

// flag returns the description of an option for a [flags.Reader].
func (o *option) flag() flags.Flag {
	return flags.Flag{Name: o.long(), Kind: o.flagKind(), Usage: o.help}
}

func (o *option) flagKind() flags.Kind {
	switch o.kind {
	case boolean, negated:
		return flags.Truth
	case integer:
		return flags.Int
	case real:
		return flags.Float
	case repeated:
		return flags.Texts
	}
	return flags.Text
}

// readFlags sets the values of the options in taken from plain, both as returned by canonical.
func (l *Line) readFlags(taken []*option, plain []string) error {
	var list []flags.Flag
	for _, o := range taken {
		list = append(list, o.flag())
	}
	values, rest, err := l.in.reader()(l.program.name, list, plain)
	if err != nil {
		return err
	}
	for i, o := range taken {
		if o.kind == negated {
			values[i] = false
		}
		l.set(o.dest, values[i])
	}
	l.Args = append(l.Args, rest...)
	return nil
}

func (in Invocation) reader() flags.Reader {
	if in.Flags == nil {
		return flags.Read
	}
	return in.Flags
}
