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

// configSet keeps a key of git's configuration at a value.
//
// value, multivar
//
//	The value, or a list of values.
//
// repo, global, user, password
//
//	The repository, or with global the configuration of the user; as which user git runs, with the password on Windows.
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
	said := data.Repr(wanted)
	if a.Value != nil {
		wanted = []any{data.Str(a.Value)}
		said = "'" + data.Str(a.Value) + "'"
	}
	return r.setKey(ctx, m, a, global, key, wanted, said)
}

// list returns values as texts; one text may hold several with commas between them.
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

func (r *report) setKey(ctx context.Context, m *module, a configSetArgs, global bool, key string, wanted []any, said string) (any, error) {
	word, small := "", ""
	if global {
		word, small = "Global key ", "global key "
	}
	get := func() (any, error) {
		return m.config(ctx, "get", a.Repo, a.User, a.Password, a.OutputEncoding, "key", key, "all", true, "global", global, "ignore_retcode", true)
	}
	pre, err := get()
	if err != nil {
		return nil, err
	}
	how := "set to"
	if pre == nil {
		how = "added as"
	}
	switch {
	case data.Equal(pre, wanted):
		return r.end(true, word+"'"+key+"' is already set to "+said), nil
	case change.Test(ctx):
		r.ret.Set("changes", change.OldNew(pre, wanted))
		return r.neutral(word + "'" + key + "' would be " + how + " " + said), nil
	}
	_, failure := m.config(ctx, "set", a.Repo, a.User, a.Password, a.OutputEncoding, "key", key, "value", a.Value, "multivar", a.Multivar, "global", global)
	post, err := get()
	if err != nil {
		return nil, err
	}
	if !data.Equal(pre, post) {
		r.changes().Set(key, change.OldNew(pre, post))
	}
	switch {
	case failure != nil:
		return r.fail("Failed to set " + small + "'" + key + "' to " + said + ": " + bare(failure)), nil
	case !data.Equal(post, wanted):
		return r.fail("Failed to set " + small + "'" + key + "' to " + said), nil
	}
	return r.end(true, word+"'"+key+"' was "+how+" "+said), nil
}

// config calls one of the functions config_ of the module git.
func (m *module) config(ctx context.Context, fun string, repo, user, password, encoding any, words ...any) (any, error) {
	kwargs := data.NewMap("cwd", repo, "user", user, "password", password, "output_encoding", encoding)
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
//	A regular expression for keys, one for those of its values that are removed, and whether several may be.
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
	u := &unsetting{report: r, m: m, a: a, global: global, all: data.Truth(a.Kwargs.Value("all"))}
	matches, err := u.matching(ctx, a.ValueRegex)
	switch {
	case err != nil:
		return nil, err
	case matches.Len() == 0:
		return r.end(true, "No matching keys are set"), nil
	}
	if many := several(matches); many != "" && !u.all {
		what := "Multivar(s) matched by the key expression"
		if a.ValueRegex != nil {
			what = "Multiple values are matched by value_regex for the following keys"
		}
		return r.fail(what + " (set 'all' to True to force removal): " + many), nil
	}
	if change.Test(ctx) {
		r.ret.Set("changes", matches)
		return r.neutral(strconv.Itoa(matches.Len()) + " key(s) would have value(s) unset"), nil
	}
	return u.unset(ctx, matches)
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
	var out []string
	l, _ := values.([]any)
	for _, v := range l {
		out = append(out, data.Str(v))
	}
	return data.Str(key) + " (" + strings.Join(out, ", ") + ")"
}

// An unsetting is one call of git.config_unset.
type unsetting struct {
	*report

	m           *module
	a           configUnsetArgs
	global, all bool
}

// matching returns the keys that the expression matches, with those values that regex chooses.
func (u *unsetting) matching(ctx context.Context, regex any) (*data.Map, error) {
	key := "^" + strings.TrimRight(strings.TrimLeft(data.Str(u.a.Name), "^"), "$") + "$"
	v, err := u.m.config(ctx, "get_regexp", u.a.Repo, u.a.User, u.a.Password, u.a.OutputEncoding, "key", key, "value_regex", regex, "global", u.global,
		"ignore_retcode", true)
	found, _ := v.(*data.Map)
	return found, err
}

func (u *unsetting) unset(ctx context.Context, matches *data.Map) (any, error) {
	pre, err := u.matching(ctx, nil)
	if err != nil {
		return nil, err
	}
	var failed []string
	for key := range matches.All() {
		_, err := u.m.config(ctx, "unset", u.a.Repo, u.a.User, u.a.Password, u.a.OutputEncoding, "key", key, "value_regex", u.a.ValueRegex, "all", u.all,
			"global", u.global)
		switch {
		case loader.KindOf(err) == loader.KindExecution:
			u.m.env.Log.Errorf("Failed to unset '%s': %s", data.Str(key), bare(err))
			failed = append(failed, data.Str(key))
		case err != nil:
			return nil, err
		}
	}
	post, err := u.matching(ctx, nil)
	if err != nil {
		return nil, err
	}
	u.compare(pre, post)
	if failed != nil {
		return u.fail("Error(s) occurred unsetting values for the following keys (see the minion log for details): " + strings.Join(failed, ", ")), nil
	}
	left, err := u.matching(ctx, u.a.ValueRegex)
	if err != nil {
		return nil, err
	}
	if left.Len() > 0 {
		var out []string
		for key, values := range left.All() {
			out = append(out, named(key, values))
		}
		return u.fail("Failed to unset value(s): " + strings.Join(out, "; ")), nil
	}
	return u.end(true, "Value(s) successfully unset"), nil
}

// compare tells in the changes what is gone.
func (u *unsetting) compare(pre, post *data.Map) {
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
			u.changes().Set(key, gone)
		}
	}
}
