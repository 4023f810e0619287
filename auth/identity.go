package auth

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
)

// The two kinds of functions of a master that [Identity.MayRun] knows.
const (
	Runner = "runner"
	Wheel  = "wheel"
)

// An Identity is a user who has proved himself, with the rights that he has now.
type Identity struct {
	Name  string // who acts, as jobs and events tell; the master's user behind sudo
	Kind  Kind
	full  bool
	rules rules
	gate  *Gate
}

// All reports whether the user may do everything.
func (i *Identity) All() bool { return i.full }

// Under returns i with the rights of a list alone. A syndic's master uses it for the user at the master above, whose rights
// the list names (salt/master.py, publish); who does not have all rights stays as he is. No list changes nothing.
func (i *Identity) Under(list any) *Identity {
	if !i.full || len(items(list)) == 0 {
		return i
	}
	narrow := *i
	narrow.full = false
	narrow.rules, _ = parseRules(list)
	return &narrow
}

// A Publication is a job that somebody wants to send.
type Publication struct {
	Fun     any      // a text, or a list of them
	Arg     []any    // arguments; for a list of functions a list for each
	Minions []string // whom the target names
}

// findJob is what every user may call: clients ask with it whether a job is still running (salt/master.py, publish).
const findJob = "saltutil.find_job"

// MayPublish reports whether every function of a job is allowed with its arguments on every minion that it names. One that is
// allowed on all minions may go to a target that names none, as it does on its way to syndics. A user without all rights may not set
// the keyword arguments __pub_…, with which the publication itself says where it comes from.
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
		if fun != findJob && !i.rules.allowsEverywhere(fun) && !i.allowsThere(fun, bind(args[n]), p.Minions, within) {
			return false
		}
	}
	return true
}

var functionName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// isFunction reports what a function may be called, so that no rule like test.* lets another name hide behind a comma or a space.
func isFunction(name string) bool { return len(name) <= 255 && functionName.MatchString(name) }

// calls returns the functions of a job and the arguments of each. What is no text or list of texts is not ok.
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

// isKwarg reports whether minions may take an argument for one with a name (salt/utils/args.py, KWARG_REGEX).
func isKwarg(arg string) bool {
	name, value, ok := strings.Cut(arg, "=")
	for i, r := range name {
		if !unicode.IsLetter(r) && r != '_' && (i == 0 || !unicode.IsNumber(r) && r != '.' && r != '-') {
			return false
		}
	}
	return ok && name != "" && !strings.HasPrefix(value, "=")
}

// bind tells arguments from those with names, which stand in a last map that says so (salt/minion.py, load_args_and_kwargs). Minions find
// such maps anywhere, and names in texts besides, where Salt's master does not look.
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

// allowsThere reports whether a rule for a target allows fun, and all minions are in that target. within remembers the targets
// that were asked for.
func (i *Identity) allowsThere(fun string, a arguments, minions []string, within map[string]bool) bool {
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

// MayRun returns why the user may not call a runner or wheel function, as a *[Refusal], or nil. args and kwargs are what the
// function will really be called with. A name that is not MODULE.FUNCTION is refused to everybody without all rights.
func (i *Identity) MayRun(form, fun string, args []any, kwargs *data.Map) error {
	if i.full {
		return nil
	}
	module, name, ok := strings.Cut(fun, ".")
	if len(i.rules) == 0 {
		return notAuthorized(i)
	}
	if !ok || strings.Contains(name, ".") {
		return badSyntax()
	}
	if isFunction(fun) && i.rules.allowForm(form, module, name, arguments{args: args, kwargs: kwargs}) {
		return nil
	}
	return notAuthorized(i)
}

// allowForm reports whether a rule with @ allows a runner or wheel function (salt/utils/minions.py, spec_check): under the name of
// its module the function stands without it, under the form with it.
func (rs rules) allowForm(form, module, name string, a arguments) bool {
	return slices.ContainsFunc(rs, func(r rule) bool {
		if r.form == "" {
			return false
		}
		ofForm := r.form == form || r.form == form+"s"
		if r.every {
			return ofForm || r.form == module
		}
		return r.form == module && allow(r.calls, name, a) || ofForm && allow(r.calls, module+"."+name, a)
	})
}
