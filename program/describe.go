package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	programs "github.com/brineproject/brine/process"
)

const (
	describeTime = 30 * time.Second
	maxDescribed = 1 << 20 // bytes of a description
)

// A description is what a program prints with the argument describe.
type description struct {
	name    string
	aliases []string
	doc     string
	reason  string // why it is not available
	refused bool
	needs   []string // of grains, pillar and opts, for each call
	funcs   []loader.Spec
}

// describe runs a program with the argument describe and returns its description. name is the name
// of its file. The end of ctx ends the program.
func describe(
	ctx context.Context, path, name string, log logrus.FieldLogger,
) (*description, error) {
	text, err := ask(ctx, path, log)
	if err != nil {
		return nil, fmt.Errorf("%s describe: %w", path, err)
	}
	d, err := parse(text, name)
	if err != nil {
		return nil, fmt.Errorf("%s describe: %w", path, err)
	}
	return d, nil
}

// parse decodes the output of PROGRAM describe.
func parse(text []byte, name string) (*description, error) {
	v, err := pyjson.Load(string(bytes.TrimSpace(text)))
	if err != nil {
		return nil, fmt.Errorf("output is not JSON: %w", err)
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, errors.New("output is not a JSON object")
	}
	d := &description{name: name, doc: m.Text("doc"),
		aliases: data.TextsOf(m.Value("aliases")), needs: data.TextsOf(m.Value("needs"))}
	if own := m.Text("name"); own != "" {
		d.name = own
	}
	if reason, ok := m.Get("reason"); ok && reason != nil {
		d.reason, d.refused = data.Str(reason), true
		return d, nil
	}
	functions, ok := m.Value("functions").(*data.Map)
	if !ok {
		return nil, errors.New("output has neither functions nor a reason")
	}
	for key, v := range functions.All() {
		spec, err := specOf(data.Str(key), v)
		if err != nil {
			return nil, fmt.Errorf("function %v: %w", key, err)
		}
		d.funcs = append(d.funcs, spec)
	}
	return d, nil
}

// ask runs a program with the argument describe and returns its output.
func ask(ctx context.Context, path string, log logrus.FieldLogger) ([]byte, error) {
	cmd, err := command(path, "describe")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, describeTime, programs.ErrTimeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out, errs := &limited{over: func() { stop(programs.ErrTimeout) }}, &stderr{log: log}
	cmd.Stdout, cmd.Stderr = out, errs
	wait, err := begin(ctx, cmd)
	if err == nil {
		err = wait()
	}
	switch last := errs.last(); {
	case errors.Is(err, errClosed):
		return nil, errClosed
	case out.full:
		return nil, fmt.Errorf("output exceeds %d bytes", maxDescribed)
	case errors.Is(err, programs.ErrTimeout):
		return nil, fmt.Errorf("the program did not end within %s", describeTime)
	case err != nil && last != "":
		return nil, fmt.Errorf("%w: %s", err, last)
	}
	return out.b.Bytes(), err
}

// limited keeps up to maxDescribed bytes. A write beyond that calls over.
type limited struct {
	b    bytes.Buffer
	full bool
	over func()
}

// Write keeps b.
func (l *limited) Write(b []byte) (int, error) {
	if l.full = l.full || l.b.Len()+len(b) > maxDescribed; l.full {
		l.over()
		return len(b), nil
	}
	return l.b.Write(b)
}

// specOf returns the description of a function.
func specOf(name string, v any) (loader.Spec, error) {
	s := loader.Spec{Name: name}
	m, ok := v.(*data.Map)
	if !ok {
		return s, errors.New("description is not an object")
	}
	s.Doc = m.Text("doc")
	s.Args, s.Kwargs = rest(m.Value("args"), "args"), rest(m.Value("kwargs"), "kwargs")
	params, ok := m.Value("params").([]any)
	if !ok && m.Value("params") != nil {
		return s, errors.New("params is not a list")
	}
	for _, v := range params {
		p, err := paramOf(v)
		if err != nil {
			return s, err
		}
		if last := len(s.Params) - 1; p.Required && last >= 0 && !s.Params[last].Required {
			return s, fmt.Errorf("parameter %s without a default follows one with a default", p.Name)
		}
		if s.Has(p.Name) {
			return s, fmt.Errorf("parameter %s appears twice", p.Name)
		}
		s.Params = append(s.Params, p)
	}
	return s, nil
}

// rest returns the name of the parameter for surplus arguments: v if it is a name, usual if it is
// true, "" otherwise.
func rest(v any, usual string) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		if v {
			return usual
		}
	}
	return ""
}

// paramOf returns a parameter: its name or, with a default, an object of the two.
func paramOf(v any) (loader.Param, error) {
	switch v := v.(type) {
	case string:
		if v != "" {
			return loader.Param{Name: v, Required: true}, nil
		}
	case *data.Map:
		if v.Len() == 1 {
			name, value := v.At(0)
			return loader.Param{Name: data.Str(name), Default: value}, nil
		}
	}
	return loader.Param{}, fmt.Errorf(
		"parameter %s is neither a name nor an object of a name and its default", data.Repr(v))
}
