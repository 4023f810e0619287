package tops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/yaml"
)

// maxNodes is the limit, in bytes, for the output of ext_nodes for one minion.
const maxNodes = 8 << 20

// Nodes is the system ext_nodes: a program that gets the minion's id as its last argument and
// prints YAML with the key classes, a list or a dictionary, and optionally environment
// (salt/tops/ext_nodes.py). No shell is involved. The program gets the words unchanged, where Salt
// adds another pair of quotes. An id that begins with - is an error.
type Nodes struct{}

// Name implements Source.
func (Nodes) Name() string { return "ext_nodes" }

// Check implements Source.
func (Nodes) Check(config any) error {
	_, err := engines.Words(config)
	return err
}

// Top implements Source.
func (n Nodes) Top(ctx context.Context, q Query) (*data.Map, error) {
	words, err := engines.Words(q.Config)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(q.ID, "-") {
		return nil, errors.New("the program would read the minion's id, which begins with -, as an option")
	}
	out, err := printed(ctx, append(words, q.ID))
	if err != nil {
		return nil, err
	}
	v, err := yaml.Load(out, yaml.Options{Name: "output of ext_nodes"})
	if err != nil {
		return nil, fmt.Errorf("parse the program's output: %w", err)
	}
	if !data.Truth(v) {
		q.Log.Info("master_tops ext_nodes call did not return any data")
		return nil, nil
	}
	m, ok := v.(*data.Map)
	if !ok {
		return nil, errors.New("the program's output is not a dictionary")
	}
	return n.states(q, m), nil
}

// states converts classes to states.
func (Nodes) states(q Query, m *data.Map) *data.Map {
	env, ok := m.Get("environment")
	if !ok {
		env = "base"
	}
	classes, ok := m.Get("classes")
	if !ok {
		q.Log.Info(`master_tops ext_nodes call did not have a dictionary with a "classes" key.`)
	}
	if names, ok := classes.(*data.Map); ok {
		classes = names.Keys()
	}
	if _, ok := classes.([]any); !ok || !data.Hashable(env) {
		return nil
	}
	return data.NewMap(env, classes)
}

// printed returns the output of a program.
func printed(ctx context.Context, argv []string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &limited{room: maxNodes, full: func() { cancel(errTooMuch) }}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout = out
	if err := process.Run(ctx, cmd); err != nil {
		return nil, fmt.Errorf("run %s: %w", argv[0], err)
	}
	return out.Bytes(), nil
}

var errTooMuch = fmt.Errorf("the program prints more than %d bytes", maxNodes)

// limited is a buffer that returns an error when it is full.
type limited struct {
	bytes.Buffer
	room int
	full func()
}

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	if l.Len()+len(b) > l.room {
		l.full()
		return 0, errTooMuch
	}
	return l.Buffer.Write(b)
}
