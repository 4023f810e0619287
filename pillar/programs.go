package pillar

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/yaml"
)

// Puppet is the external pillar puppet: the key parameters of the YAML that an external node
// classifier of Puppet prints, which gets the minion's id as its last argument
// (salt/pillar/puppet.py). As in Salt, a failure is logged, and the pillar is empty.
type Puppet struct{}

// Hiera is the external pillar hiera: the YAML that the program hiera prints for a configuration and
// the grains of the minion that are texts (salt/pillar/hiera.py). The argument is the path of the
// configuration, and may have further words for the program. Differences: a quote in a grain does
// not end its word. A grain whose name begins with - or has an equals sign is left out.
type Hiera struct{}

var (
	_ OnDemandChecker = Puppet{}
	_ OnDemandChecker = Hiera{}
	_ Checker         = Hiera{}
	_ Checker         = Puppet{}
)

// Name implements Source.
func (Puppet) Name() string { return "puppet" }

// Name implements Source.
func (Hiera) Name() string { return "hiera" }

// CheckOnDemand implements OnDemandChecker: minions must not choose a command.
func (Puppet) CheckOnDemand(any, *data.Map) error { return errCommand }

// CheckOnDemand implements OnDemandChecker: minions must not choose arguments of a program.
func (Hiera) CheckOnDemand(any, *data.Map) error { return errCommand }

var errCommand = errors.New("a minion may not choose a command that the master runs")

// words returns the words of a text argument.
func words(argument any, name string) ([]string, error) {
	args, err := Bind(argument, 1, name)
	if err != nil {
		return nil, err
	}
	text, ok := args.Value(name).(string)
	if !ok {
		return nil, fmt.Errorf("%s: expected a text", name)
	}
	all, err := process.Words(text)
	if err == nil && len(all) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// Check implements Checker.
func (Puppet) Check(argument any, _ *data.Map) error {
	_, err := words(argument, "command")
	return err
}

// Check implements Checker.
func (Hiera) Check(argument any, _ *data.Map) error {
	_, err := words(argument, "conf")
	if err == nil && process.Find("hiera") == "" {
		err = errors.New("the program hiera was not found")
	}
	return err
}

// Pillar implements Source.
func (Puppet) Pillar(ctx context.Context, q Query) (*data.Map, error) {
	argv, err := words(q.Argument, "command")
	if err != nil {
		return nil, err
	}
	if !shellWord.MatchString(q.ID) {
		return nil, errors.New("the minion's id is not fit for a command line")
	}
	v, ok := printed(ctx, q, "puppet", append(argv, q.ID))
	m, isMap := v.(*data.Map)
	if ok && !isMap {
		q.Log.Errorf("ext_pillar puppet: the output of its command for %s is not a dictionary", q.ID)
		return nil, nil
	}
	if !ok || !m.Has("parameters") {
		if ok {
			q.Log.Errorf("ext_pillar puppet: the output of its command for %s has no parameters", q.ID)
		}
		return nil, nil
	}
	return dictionary(m.Value("parameters"))
}

// Pillar implements Source.
func (Hiera) Pillar(ctx context.Context, q Query) (*data.Map, error) {
	conf, err := words(q.Argument, "conf")
	if err != nil {
		return nil, err
	}
	program := process.Find("hiera")
	if program == "" {
		return nil, errors.New("the program hiera was not found")
	}
	argv := append([]string{program, "-c"}, conf...)
	for name, v := range q.Grains.All() {
		key, isText := name.(string)
		text, ok := v.(string)
		if isText && ok && key != "" && !strings.HasPrefix(key, "-") && !strings.ContainsAny(key, "=\x00") {
			argv = append(argv, key+"="+strings.ReplaceAll(text, "\x00", ""))
		}
	}
	v, _ := printed(ctx, q, "hiera", argv)
	return dictionary(v)
}

// programTime limits a program.
const programTime = time.Minute

// printed returns the YAML that a program prints within a minute. A failure is logged without the
// output, which may hold secrets; ok is false then.
func printed(ctx context.Context, q Query, name string, argv []string) (v any, ok bool) {
	return printedWithin(ctx, programTime, q, name, argv)
}

func printedWithin(
	ctx context.Context, limit time.Duration, q Query, name string, argv []string,
) (v any, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := calls.RunOutput(ctx, q.Engine.Env(), calls.Run{Argv: argv, Shell: calls.NoShell, Log: "quiet"})
	if err != nil {
		q.Log.Errorf("ext_pillar %s: its command for %s: %s", name, q.ID, err)
		return nil, false
	}
	if v, err = yaml.Load([]byte(out), yaml.Options{}); err != nil {
		q.Log.Errorf("ext_pillar %s: the output of its command for %s failed to parse%s", name, q.ID,
			where(err))
		return nil, false
	}
	return v, true
}

func dictionary(v any) (*data.Map, error) {
	m, ok := v.(*data.Map)
	if !ok && data.Truth(v) {
		return nil, errors.New("the output of the command is not a dictionary")
	}
	return m, nil
}
