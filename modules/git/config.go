package git

import (
	"context"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A store identifies a configuration: that of a repository, or with global that of a user.
type store struct {
	run
	global bool
}

// configArgs are the last arguments of functions that read or change a configuration.
type configArgs struct {
	Cwd any `default:"None"`
	runArgs
	Kwargs *data.Map `kwargs:"kwargs"`
}

// store returns the configuration that the arguments select. It rejects keyword arguments other
// than known.
func (m *module) store(a configArgs, key any, known ...string) (store, error) {
	if err := rejectUnknown(a.Kwargs, known...); err != nil {
		return store{}, err
	}
	s := store{run{user: a.User, password: a.Password, quiet: a.IgnoreRetcode,
		encoding: a.OutputEncoding}, flag(a.Kwargs, "global")}
	if a.Cwd != nil {
		s.cwd = m.absolute(a.Cwd, a.User)
	} else if !s.global {
		return s, loader.Invocation("'cwd' argument required unless global=True")
	}
	return s, plain(key)
}

// place returns the option that selects the configuration.
func (s store) place() string {
	if s.global {
		return "--global"
	}
	return "--local"
}

// values returns the values of a key, or nil if there are none.
func (m *module) values(ctx context.Context, s store, key string) ([]any, error) {
	s.soft = true
	result, err := m.git(ctx, s.run, []string{"config", s.place(), "--get-all", key})
	if err != nil || result.Retcode == 1 {
		return nil, err
	}
	return lines(result.Stdout), nil
}

type configGetArgs struct {
	Key any
	configArgs
}

// configGet returns the value of a key, or None if there is none. Of several values it returns the
// last, or with all a list. With global it reads the user's configuration. The other arguments are
// as in git.clone.
//
// CLI Example:
//
//	salt myminion git.config_get user.name cwd=/path/to/repo
//	salt myminion git.config_get user.email global=True
func (m *module) configGet(ctx context.Context, a configGetArgs) (any, error) {
	s, err := m.store(a.configArgs, a.Key, "all", "global")
	if err != nil {
		return nil, err
	}
	list, err := m.values(ctx, s, data.Str(a.Key))
	switch {
	case err != nil || list == nil:
		return nil, err
	case flag(a.Kwargs, "all"):
		return list, nil
	case len(list) == 0:
		return "", nil
	}
	return list[len(list)-1], nil
}

type configRegexpArgs struct {
	Key        any
	ValueRegex any `default:"None"`
	configArgs
}

// configGetRegexp returns the keys that match a regular expression, with lists of their values.
// value_regex selects values. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.config_get_regexp 'user\.*' cwd=/path/to/repo
//	salt myminion git.config_get_regexp 'foo.bar' 'baz' global=True
func (m *module) configGetRegexp(ctx context.Context, a configRegexpArgs) (any, error) {
	s, err := m.store(a.configArgs, a.Key, "global")
	if err != nil {
		return nil, err
	}
	args := []string{"config", s.place(), "--get-regexp", data.Str(a.Key)}
	if a.ValueRegex != nil {
		args = append(args, data.Str(a.ValueRegex))
	}
	s.soft = true
	result, err := m.git(ctx, s.run, args)
	if err != nil {
		return nil, err
	}
	ret := data.NewMap()
	for line := range strings.Lines(result.Stdout) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " "); ok && value != "" {
			appendTo(ret, key, value)
		}
	}
	return ret, nil
}

type configSetArgs struct {
	Key      any
	Value    any `default:"None"`
	Multivar any `default:"None"`
	configArgs
}

// configSet sets the value of a key, or several values with multivar, a list or separated by
// commas. It returns all values that the key then has. With add the value is added to the existing
// ones. With global it changes the user's configuration. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.config_set user.email me@example.com cwd=/path/to/repo
//	salt myminion git.config_set mylist.multivar multivar=foo,bar,baz cwd=/path/to/repo
func (m *module) configSet(ctx context.Context, a configSetArgs) (any, error) {
	s, err := m.store(a.configArgs, a.Key, "add", "global")
	if err != nil {
		return nil, err
	}
	if a.Value != nil && a.Multivar != nil {
		return nil, loader.Invocation("Only one of 'value' and 'multivar' is permitted")
	}
	values := data.SplitTexts(a.Multivar, ",")
	if a.Value != nil {
		values = []string{data.Str(a.Value)}
	}
	for i, value := range values {
		args := []string{"config"}
		if s.global {
			args = append(args, "--global")
		}
		how := "--replace-all"
		if i > 0 || a.Value != nil && flag(a.Kwargs, "add") {
			how = "--add"
		}
		if _, err := m.git(ctx, s.run, append(args, how, data.Str(a.Key), value)); err != nil {
			return nil, err
		}
	}
	list, err := m.values(ctx, s, data.Str(a.Key))
	if err != nil || list == nil {
		return nil, err
	}
	return list, nil
}

type configUnsetArgs struct {
	Key        any
	ValueRegex any `default:"None"`
	configArgs
}

// configUnset removes a key and returns True. With all it removes a key with several values;
// value_regex selects values. With global it changes the user's configuration. The other arguments
// are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.config_unset /path/to/repo foo.bar
//	salt myminion git.config_unset /path/to/repo foo.bar all=True
func (m *module) configUnset(ctx context.Context, a configUnsetArgs) (any, error) {
	s, err := m.store(a.configArgs, a.Key, "all", "global")
	if err != nil {
		return nil, err
	}
	how, key := "--unset", data.Str(a.Key)
	if flag(a.Kwargs, "all") {
		how = "--unset-all"
	}
	args := []string{"config", how, s.place(), key}
	if a.ValueRegex != nil {
		args = append(args, data.Str(a.ValueRegex))
	}
	s.soft = true
	result, err := m.git(ctx, s.run, args)
	if err != nil {
		return nil, err
	}
	switch code := result.Retcode; code {
	case 0:
		return true, nil
	case 1:
		return nil, loader.Execution("Section or key is invalid")
	case 5:
		return nil, m.notUnset(ctx, s, key, a.ValueRegex)
	case 6:
		return nil, loader.Execution("The value_regex is invalid")
	default:
		text := "Failed to unset key '" + key + "', git config returned exit code " +
			strconv.Itoa(code)
		if output := result.Stderr; output != "" {
			text += "; " + output
		}
		return nil, loader.Execution("%s", text)
	}
}

// notUnset returns the error for a key that was not removed.
func (m *module) notUnset(ctx context.Context, s store, key string, regex any) error {
	list, err := m.values(ctx, s, key)
	switch {
	case err != nil:
		return err
	case list == nil:
		return loader.Execution("Key '%s' does not exist", key)
	case regex != nil:
		return loader.Execution("Multiple values exist for key '%s' and value_regex matches multiple values", key)
	}
	return loader.Execution("Multiple values exist for key '%s'", key)
}
