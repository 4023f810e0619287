package git

import (
	"context"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type configSetArgs struct {
	Name           any
	Value          any       `default:"None"`
	Multivar       any       `default:"None"`
	Repo           any       `default:"None"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// configSet sets a key of git's configuration.
//
// value, multivar
//
//	The value, or a list of values.
//
// repo, global, user, password
//
//	The repository, or with global the user's configuration; the system user that git runs as, and
//	that user's password on Windows.
//
//	user.email:
//	  git.config_set:
//	    - value: foo@example.com
//	    - user: foo
//	    - global: True
func (m *module) configSet(ctx context.Context, a configSetArgs) (any, error) {
	r := newReport(a.Name)
	global := data.Truth(a.Kwargs.Value("global"))
	switch problem := unknown(a.Kwargs, "global"); {
	case a.Value != nil && a.Multivar != nil:
		return r.fail("Only one of 'value' and 'multivar' is permitted"), nil
	case problem != "":
		return r.fail(problem), nil
	case !global && !data.Truth(a.Repo):
		return r.fail("Non-global config options require the 'repo' argument to be set"), nil
	}
	key, wanted := data.Str(a.Name), list(a.Multivar)
	shown := data.Repr(wanted)
	if a.Value != nil {
		wanted = []any{data.Str(a.Value)}
		shown = "'" + data.Str(a.Value) + "'"
	}
	return ended(m.setKey(ctx, a, global, key, wanted, shown))
}

// list returns values as strings. A single string may hold several values separated by commas.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return []any{}
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = data.Str(item)
		}
		return out
	}
	out := []any{}
	for part := range strings.SplitSeq(data.Str(v), ",") {
		out = append(out, part)
	}
	return out
}

func (m *module) setKey(
	ctx context.Context, a configSetArgs, global bool, key string, wanted []any, shown string,
) (change.Result, error) {
	word, small := "", ""
	if global {
		word, small = "Global key ", "global key "
	}
	failed := "Failed to set " + small + "'" + key + "' to " + shown
	return change.Thing[any]{
		Name: a.Name,
		Look: func(ctx context.Context) (any, error) {
			now, err := m.config(ctx, "get", a.Repo, a.User, a.Password, a.OutputEncoding,
				"key", key, "all", true, "global", global, "ignore_retcode", true)
			return now, change.Raise(err)
		},
		Wants: func(now any) *data.Map {
			return change.When(!data.Equal(now, wanted), change.OldNew(now, wanted))
		},
		Apply: func(ctx context.Context, _ any) error {
			_, err := m.config(ctx, "set", a.Repo, a.User, a.Password, a.OutputEncoding,
				"key", key, "value", a.Value, "multivar", a.Multivar, "global", global)
			if err != nil {
				err = change.Reason(failed + ": " + bare(err))
			}
			return err
		},
		Changed: func(before, after any) *data.Map {
			return change.When(!data.Equal(before, after),
				data.NewMap(key, change.OldNew(before, after)))
		},
		Say: func(o change.Outcome[any]) any {
			how := "set to"
			if o.Before == nil {
				how = "added as"
			}
			switch o.Stage {
			case change.StageSame:
				return word + "'" + key + "' is already set to " + shown
			case change.StageWould:
				return word + "'" + key + "' would be " + how + " " + shown
			case change.StageDone:
				return word + "'" + key + "' was " + how + " " + shown
			}
			return nil
		},
		Texts: change.Texts{Failed: failed},
	}.Ensure(ctx)
}

// config calls one of the config_ functions of the module git.
func (m *module) config(
	ctx context.Context, fun string, repo, user, password, encoding any, words ...any,
) (any, error) {
	kwargs := data.NewMap("cwd", repo, "user", user, "password", password,
		"output_encoding", encoding)
	kwargs.Update(data.NewMap(words...))
	return m.env.Call(ctx, "git.config_"+fun, nil, kwargs)
}

type configUnsetArgs struct {
	Name           any
	ValueRegex     any       `default:"None"`
	Repo           any       `default:"None"`
	User           any       `default:"None"`
	Password       any       `default:"None"`
	OutputEncoding any       `default:"None"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// configUnset removes keys of git's configuration.
//
// name, value_regex, all
//
//	A regular expression for keys; one for the values to remove; whether several values may be
//	removed.
//
// repo, global, user, password
//
//	As in git.config_set.
//
//	foo.bar:
//	  git.config_unset:
//	    - repo: /path/to/repo
//	    - all: True
func (m *module) configUnset(ctx context.Context, a configUnsetArgs) (any, error) {
	r := newReport(a.Name)
	global := data.Truth(a.Kwargs.Value("global"))
	switch problem := unknown(a.Kwargs, "global", "all"); {
	case problem != "":
		return r.fail(problem), nil
	case !global && !data.Truth(a.Repo):
		return r.fail("Non-global config options require the 'repo' argument to be set"), nil
	}
	u := &unsetCall{m: m, a: a, global: global, all: data.Truth(a.Kwargs.Value("all")),
		changes: &data.Map{}}
	return ended(change.Thing[*data.Map]{
		Name:    a.Name,
		Look:    u.look,
		Wants:   func(matches *data.Map) *data.Map { return matches },
		Apply:   func(ctx context.Context, matches *data.Map) error { return u.unset(ctx, matches) },
		Changed: func(_, _ *data.Map) *data.Map { return u.changes },
		Say: func(o change.Outcome[*data.Map]) any {
			switch o.Stage {
			case change.StageSame:
				return "No matching keys are set"
			case change.StageWould:
				return strconv.Itoa(o.Changes.Len()) + " key(s) would have value(s) unset"
			case change.StageDone:
				return "Value(s) successfully unset"
			}
			return nil
		},
		Trust: true, // reads all values of the keys, not only those that match value_regex
	}.Ensure(ctx))
}

// look returns the keys and values to remove. Several values of one key are removed only with all.
func (u *unsetCall) look(ctx context.Context) (*data.Map, error) {
	matches, err := u.matching(ctx, u.a.ValueRegex)
	if err != nil {
		return nil, change.Raise(err)
	}
	if many := several(matches); many != "" && !u.all {
		what := "Multivar(s) matched by the key expression"
		if u.a.ValueRegex != nil {
			what = "Multiple values are matched by value_regex for the following keys"
		}
		return nil, change.Reason(what + " (set 'all' to True to force removal): " + many)
	}
	return matches, nil
}

// several returns the keys that have more than one value.
func several(matches *data.Map) string {
	var out []string
	for key, values := range matches.All() {
		if l, _ := values.([]any); len(l) > 1 {
			out = append(out, named(key, values))
		}
	}
	return strings.Join(out, "; ")
}

func named(key, values any) string {
	l, _ := values.([]any)
	return data.Str(key) + " (" + strings.Join(data.Texts(l), ", ") + ")"
}

// An unsetCall is one call of git.config_unset.
type unsetCall struct {
	m           *module
	a           configUnsetArgs
	global, all bool
	changes     *data.Map
}

// matching returns the keys that match the expression, with those of their values that match regex.
func (u *unsetCall) matching(ctx context.Context, regex any) (*data.Map, error) {
	key := "^" + strings.TrimRight(strings.TrimLeft(data.Str(u.a.Name), "^"), "$") + "$"
	v, err := u.m.config(ctx, "get_regexp", u.a.Repo, u.a.User, u.a.Password, u.a.OutputEncoding,
		"key", key, "value_regex", regex, "global", u.global,
		"ignore_retcode", true)
	found, _ := v.(*data.Map)
	return found, err
}

func (u *unsetCall) unset(ctx context.Context, matches *data.Map) error {
	pre, err := u.matching(ctx, nil)
	if err != nil {
		return change.Raise(err)
	}
	var failed []string
	for key := range matches.All() {
		_, err := u.m.config(ctx, "unset", u.a.Repo, u.a.User, u.a.Password, u.a.OutputEncoding,
			"key", key, "value_regex", u.a.ValueRegex, "all", u.all, "global", u.global)
		switch {
		case loader.KindOf(err) == loader.KindExecution:
			u.m.env.Log.Errorf("Failed to unset '%s': %s", data.Str(key), bare(err))
			failed = append(failed, data.Str(key))
		case err != nil:
			return change.Raise(err)
		}
	}
	post, err := u.matching(ctx, nil)
	if err != nil {
		return change.Raise(err)
	}
	u.compare(pre, post)
	if failed != nil {
		return change.Reason("Error(s) occurred unsetting values for the following keys " +
			"(see the minion log for details): " + strings.Join(failed, ", "))
	}
	left, err := u.matching(ctx, u.a.ValueRegex)
	if err != nil {
		return change.Raise(err)
	}
	var out []string
	for key, values := range left.All() {
		out = append(out, named(key, values))
	}
	if out != nil {
		return change.Reason("Failed to unset value(s): " + strings.Join(out, "; "))
	}
	return nil
}

// compare adds the removed values to the changes.
func (u *unsetCall) compare(pre, post *data.Map) {
	for key, values := range pre.All() {
		now, _ := post.Value(key).([]any)
		gone := []any{}
		before, _ := values.([]any)
		for _, v := range before {
			still := false
			for _, n := range now {
				still = still || n == v
			}
			if !still {
				gone = append(gone, v)
			}
		}
		if len(gone) > 0 {
			u.changes.Set(key, gone)
		}
	}
}
