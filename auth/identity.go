package auth

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
)

// The function types accepted by [Identity.MayRun].
const (
	Runner = "runner"
	Wheel  = "wheel"
)

// An Identity is an authenticated user with their current rights.
type Identity struct {
	Name  string // user name for jobs and events; the master's user behind sudo
	Kind  Kind
	full  bool
	rules rules
	gate  *Gate
}

// All reports whether the user has all rights.
func (i *Identity) All() bool { return i.full }

// Under returns i restricted to the rights in list. A syndic's master uses it for a user of the
// higher master, whose rights the list contains (salt/master.py, publish). An identity without all
// rights is returned unchanged, as is any identity if list is nil.
func (i *Identity) Under(list any) *Identity {
	if !i.full || len(data.ListOf(list)) == 0 {
		return i
	}
	narrow := *i
	narrow.full = false
	narrow.rules, _ = parseRules(list)
	return &narrow
}

// AuthList returns the rights in the form in which they are configured, for [Identity.Under] on
// another master. It is empty for a user with all rights.
func (i *Identity) AuthList() []any {
	list := []any{}
	if i.full {
		return list
	}
	for _, r := range i.rules {
		list = append(list, r.entry)
	}
	if len(list) == 0 { // an empty list would mean all rights
		return []any{findJob}
	}
	return list
}

// A Publication is a job to be authorized.
type Publication struct {
	Fun     any      // a function name, or a list of them
	Arg     []any    // arguments; for a list of functions, one list per function
	Minions []string // minions matched by the target
}

// findJob is allowed to every user: clients call it to check whether a job is still running
// (salt/master.py, publish).
const findJob = "saltutil.find_job"

// MayPublish reports whether every function of a job is allowed with its arguments on every
// targeted minion. If a function is allowed on all minions, the target may match none, since the
// minions may be behind syndics. Users without all rights must not pass the keyword arguments
// __pub_…, which describe the origin of the publication.
func (i *Identity) MayPublish(p Publication) bool {
	if i.full {
		return true
	}
	funs, args, ok := p.calls()
	if !ok || forgesOrigin(p.Arg) {
		return false
	}
	within := map[string]bool{}
	for n, fun := range funs {
		if fun != findJob && !i.rules.allowsEverywhere(fun) &&
			!i.allowsThere(fun, bind(args[n]), p.Minions, within) {
			return false
		}
	}
	return true
}

var functionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// isFunction reports whether name is a valid function name, so that no comma or space can smuggle a
// second name past a rule such as test.*.
func isFunction(name string) bool { return len(name) <= 255 && functionName.MatchString(name) }

// calls returns the functions of a job and their arguments. ok is false if the functions are
// neither a string nor a list of strings.
func (p Publication) calls() (funs []string, args [][]any, ok bool) {
	if name, ok := p.Fun.(string); ok {
		return []string{name}, [][]any{p.Arg}, isFunction(name)
	}
	list, ok := p.Fun.([]any)
	if !ok || len(list) == 0 || len(p.Arg) != len(list) {
		return nil, nil, false
	}
	args = make([][]any, len(list))
	for n, v := range list {
		name, isText := v.(string)
		if !isText || !isFunction(name) {
			return nil, nil, false
		}
		if args[n], ok = p.Arg[n].([]any); !ok {
			return nil, nil, false
		}
		funs = append(funs, name)
	}
	return funs, args, true
}

// isKwarg reports whether minions would parse an argument as a keyword argument
// (salt/utils/args.py, KWARG_REGEX).
func isKwarg(arg string) bool {
	name, value, ok := strings.Cut(arg, "=")
	for i, r := range name {
		if !unicode.IsLetter(r) && r != '_' &&
			(i == 0 || !unicode.IsNumber(r) && r != '.' && r != '-') {
			return false
		}
	}
	return ok && name != "" && !strings.HasPrefix(value, "=")
}

// bind separates positional and keyword arguments. Keyword arguments are in a marked last map
// (salt/minion.py, load_args_and_kwargs). Minions also accept such maps in other positions, and
// strings NAME=VALUE, which Salt's master does not check.
func bind(args []any) arguments {
	a := arguments{args: args}
	for n, v := range args {
		switch v := v.(type) {
		case *data.Map:
			if !v.Has("__kwarg__") {
				continue
			}
			if n != len(args)-1 || v.Value("__kwarg__") != true {
				a.odd = true
				continue
			}
			a.args, a.kwargs = args[:n:n], v
		case string:
			a.odd = a.odd || isKwarg(v)
		}
	}
	return a
}

// allowsThere reports whether a rule with a target allows fun and its target includes all minions.
// within caches the results per target.
func (i *Identity) allowsThere(
	fun string, a arguments, minions []string, within map[string]bool,
) bool {
	return slices.ContainsFunc(i.rules, func(r rule) bool {
		return r.tgt != "" && allow(r.calls, fun, a) && i.contains(r.tgt, minions, within)
	})
}

func (i *Identity) contains(tgt string, minions []string, within map[string]bool) bool {
	in, known := within[tgt]
	if !known {
		in = i.gate.targets(tgt, minions)
		within[tgt] = in
	}
	return in
}

// makesKeys is the runner that makes API keys. It gives any rights, so that no rule allows it.
const makesKeys = "auth.mk_key"

// MayRun returns nil if the user may call a runner or wheel function, else a *[Refusal]. args and
// kwargs must be the actual arguments of the call. A name other than MODULE.FUNCTION is refused to
// users without all rights.
func (i *Identity) MayRun(form, fun string, args []any, kwargs *data.Map) error {
	if i.full {
		return nil
	}
	module, name, ok := strings.Cut(fun, ".")
	if len(i.rules) == 0 || form == "runner" && fun == makesKeys {
		return notAuthorized(i)
	}
	if !ok || strings.Contains(name, ".") {
		return badSyntax()
	}
	if isFunction(fun) && i.rules.allowForm(form, module, name,
		arguments{args: args, kwargs: kwargs}) {
		return nil
	}
	return notAuthorized(i)
}

// allowForm reports whether a rule with @ allows a runner or wheel function (salt/utils/minions.py,
// spec_check). Under the name of its module, a rule names the function without the module; under
// runner or wheel it names both.
func (rs rules) allowForm(form, module, name string, a arguments) bool {
	return slices.ContainsFunc(rs, func(r rule) bool {
		if r.form == "" {
			return false
		}
		ofForm := r.form == form || r.form == form+"s"
		if r.every {
			return ofForm || r.form == module
		}
		return r.form == module && allow(r.calls, name, a) ||
			ofForm && allow(r.calls, module+"."+name, a)
	})
}
