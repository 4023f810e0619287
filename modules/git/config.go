package git

import (
	"context"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A store says which configuration is meant: that of a repository, or with global of a user.
type store struct {
	run
	global bool
}

func (m *module) store(a repoArgs, kwargs *data.Map, key any) (store, error) {
	s := store{run{user: a.User, password: a.Password, quiet: a.IgnoreRetcode, encoding: a.OutputEncoding}, flag(kwargs, "global")}
	if a.Cwd != nil {
		s.cwd = m.where(a.Cwd, a.User)
	} else if !s.global {
		return s, loader.Invocation("'cwd' argument required unless global=True")
	}
	return s, plain(key)
}

// place is the option that names the configuration.
func (s store) place() string {
	if s.global {
		return "--global"
	}
	return "--local"
}

// values returns the values of a key, nil where there is none.
func (m *module) values(ctx context.Context, s store, key string) ([]any, error) {
	s.soft = true
	result, err := m.git(ctx, s.run, []string{"config", s.place(), "--get-all", key})
	if err != nil || result.Retcode == 1 {
		return nil, err
	}
	return lines(result.Stdout), nil
}

type configGetArgs struct {
	Key            any
	Cwd            any       `default:"None"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	IgnoreRetcode  bool      `default:"False"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// configGet returns the value of a key, the last of several, or with all a list of them; None where there is none. With global it is
// of the user's configuration. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.config_get user.name cwd=/path/to/repo
//	salt myminion git.config_get user.email global=True
func (m *module) configGet(ctx context.Context, a configGetArgs) (any, error) {
	if err := only(a.Kwargs, "all", "global"); err != nil {
		return nil, err
	}
	s, err := m.store(repoArgs{a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding}, a.Kwargs, a.Key)
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
	Key            any
	ValueRegex     any       `default:"None"`
	Cwd            any       `default:"None"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	IgnoreRetcode  bool      `default:"False"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// configGetRegexp returns the keys that match a regular expression, with lists of their values, of which value_regex chooses some. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.config_get_regexp 'user\.*' cwd=/path/to/repo
//	salt myminion git.config_get_regexp 'foo.bar' 'baz' global=True
func (m *module) configGetRegexp(ctx context.Context, a configRegexpArgs) (any, error) {
	if err := only(a.Kwargs, "global"); err != nil {
		return nil, err
	}
	s, err := m.store(repoArgs{a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding}, a.Kwargs, a.Key)
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
			grow(ret, key, value)
		}
	}
	return ret, nil
}

type configSetArgs struct {
	Key            any
	Value          any       `default:"None"`
	Multivar       any       `default:"None"`
	Cwd            any       `default:"None"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	IgnoreRetcode  bool      `default:"False"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// configSet gives a key a value, or several by multivar, a list or separated by commas, and returns all that it has then. With add the
// value comes to those that are there, with global it is of the user's configuration. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.config_set user.email me@example.com cwd=/path/to/repo
//	salt myminion git.config_set mylist.multivar multivar=foo,bar,baz cwd=/path/to/repo
func (m *module) configSet(ctx context.Context, a configSetArgs) (any, error) {
	if err := only(a.Kwargs, "add", "global"); err != nil {
		return nil, err
	}
	s, err := m.store(repoArgs{a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding}, a.Kwargs, a.Key)
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
	Key            any
	ValueRegex     any       `default:"None"`
	Cwd            any       `default:"None"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	IgnoreRetcode  bool      `default:"False"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// configUnset removes a key, or with all one that has several values, of which value_regex chooses some, and returns True. With
// global it is of the user's configuration. The other arguments are as in git.clone.
//
// CLI Example:
//
//	salt myminion git.config_unset /path/to/repo foo.bar
//	salt myminion git.config_unset /path/to/repo foo.bar all=True
func (m *module) configUnset(ctx context.Context, a configUnsetArgs) (any, error) {
	if err := only(a.Kwargs, "all", "global"); err != nil {
		return nil, err
	}
	s, err := m.store(repoArgs{a.Cwd, a.User, a.Password, a.IgnoreRetcode, a.OutputEncoding}, a.Kwargs, a.Key)
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
		text := "Failed to unset key '" + key + "', git config returned exit code " + strconv.Itoa(code)
		if said := result.Stderr; said != "" {
			text += "; " + said
		}
		return nil, loader.Execution("%s", text)
	}
}

// notUnset says why a key was not removed.
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
