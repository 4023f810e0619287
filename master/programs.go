package master

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
)

// programs parses the option ext_processes: programs that run as long as the master. Each is a
// command line for /bin/sh, a list of words, or a map with command (either of these), name, cwd and
// env. Salt's own form, the dotted name of a Python class, is refused: no Salt on Python 3 can
// start it.
func programs(option any) ([]daemon.Command, error) {
	entries, ok := option.([]any)
	if !ok && option != nil {
		return nil, config.Expected("a list of commands", option, programExample)
	}
	var list []daemon.Command
	names := map[string]bool{}
	for i, entry := range entries {
		c, err := program(entry)
		if err != nil {
			return nil, config.Below(config.Entry{Index: i, Value: entry}, err)
		}
		for n, base := 2, c.Name; names[c.Name]; n++ {
			c.Name = fmt.Sprintf("%s %d", base, n)
		}
		names[c.Name] = true
		list = append(list, c)
	}
	return list, nil
}

// programExample shows the form of an entry.
const programExample = "write - /usr/bin/program --option, or - command: [/usr/bin/program, --option]"

// CheckPrograms validates the option ext_processes. The error joins findings of package config.
func CheckPrograms(cfg *config.Master) error {
	_, err := programs(cfg.ExtProcesses)
	return err
}

func program(entry any) (daemon.Command, error) {
	m, ok := entry.(*data.Map)
	if !ok {
		m = data.NewMap("command", entry)
	}
	var c daemon.Command
	for key, value := range m.All() {
		var err error
		switch key {
		case "command":
			c.Argv, err = argv(value)
		case "name":
			c.Name = data.Str(value)
		case "cwd":
			c.Dir = data.Str(value)
		case "env":
			c.Env, err = environment(value)
		default:
			err = fmt.Errorf("%s is unknown; the keys are command, name, cwd and env",
				data.Str(key))
		}
		if err != nil {
			return c, err
		}
	}
	if len(c.Argv) == 0 {
		return c, fmt.Errorf("there is no command")
	}
	if c.Name == "" {
		c.Name = nameOf(c.Argv)
	}
	return c, nil
}

var dotted = regexp.MustCompile(`^\w+(\.\w+)+$`)

// argv returns the words of a command.
func argv(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		if dotted.MatchString(v) {
			return nil, fmt.Errorf("%s is a Python class; give the command that runs it", v)
		}
		return []string{"/bin/sh", "-c", v}, nil
	case []any:
		words := make([]string, len(v))
		for i := range v {
			words[i] = data.Str(v[i])
		}
		return words, nil
	}
	return nil, fmt.Errorf("a command is a text or a list of words, not %s", data.Repr(v))
}

func environment(v any) ([]string, error) {
	m, ok := v.(*data.Map)
	if !ok {
		return nil, fmt.Errorf("env: expected a mapping of names to values")
	}
	var env []string
	for name, value := range m.All() {
		env = append(env, data.Str(name)+"="+data.Str(value))
	}
	return env, nil
}

// nameOf returns the name of a command in the log: the base name of its program.
func nameOf(argv []string) string {
	word := argv[0]
	if len(argv) == 3 && argv[1] == "-c" {
		word, _, _ = strings.Cut(strings.TrimSpace(argv[2]), " ")
	}
	return filepath.Base(word)
}
