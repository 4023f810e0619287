package auth

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

// CheckRights reports the entries of a list of rights that can never allow anything, each with what may be
// meant. modules are the modules of runners and wheel functions, which may stand behind @. The error joins
// findings of package config.
func CheckRights(rights []any, modules []string) error {
	var errs []error
	for i, entry := range rights {
		if err := checkRight(entry, modules); err != nil {
			errs = append(errs, config.Below(config.Entry{Index: i, Value: entry}, err))
		}
	}
	return errors.Join(errs...)
}

// CheckUseful reports the rights of external_auth that can never allow anything, as doubts. modules is that of
// CheckRights. Rights of another form than CheckLogins takes are left to it.
func CheckUseful(option *data.Map, modules []string) error {
	var errs []error
	for system, users := range option.All() {
		m, _ := users.(*data.Map)
		for user, list := range m.All() {
			if isSetting(data.Str(user)) {
				continue
			}
			for i, entry := range entries(list) {
				if _, err := parseRule(entry); err != nil {
					continue
				}
				if err := checkRight(entry, modules); err != nil {
					at := config.Below(user, config.Below(config.Entry{Index: i, Value: entry}, err))
					errs = append(errs, config.Below(system, config.Doubt(at)))
				}
			}
		}
	}
	return errors.Join(errs...)
}

func checkRight(entry any, modules []string) error {
	if _, err := parseRule(entry); err != nil {
		return err
	}
	if text, ok := entry.(string); ok {
		if form, ok := strings.CutPrefix(text, "@"); ok {
			return checkForm(form, modules)
		}
		return checkFunction(text, true)
	}
	name, value, err := single(entry.(*data.Map)) // parseRule takes nothing else
	if err != nil {
		return err
	}
	form, isForm := strings.CutPrefix(name, "@")
	whole := !isForm || ofKind(form)
	if isForm {
		err = checkForm(form, modules)
	} else {
		err = checkTarget(name)
	}
	if err == nil {
		err = checkCalls(value, name, whole)
	}
	return config.Below(name, err)
}

// ofKind reports whether a form allows functions of all modules, which are then named with their module.
func ofKind(form string) bool {
	return slices.Contains([]string{Runner, Runner + "s", Wheel, Wheel + "s"}, form)
}

// checkForm reports a name behind @ that is neither a kind of function nor one of modules.
func checkForm(form string, modules []string) error {
	known := append([]string{Runner, Wheel, "events", "hooks"}, modules...)
	if ofKind(form) || slices.Contains(known, form) {
		return nil
	}
	f := &config.Finding{Text: "there is no '@" + form + "'",
		Suggestion: "write '@runner', '@wheel', '@events', '@hooks' or '@MODULE' with the module of a runner, such as '@jobs'"}
	if near := config.Nearest(form, known); near != "" {
		f.Suggestion = "is '@" + near + "' meant?"
	}
	module, fun, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(form, "runner."), "wheel."), ".")
	if ok && slices.Contains(modules, module) {
		f.Suggestion = fmt.Sprintf("write {'@%s': ['%s']}", module, fun)
	}
	return f
}

// checkTarget reports a target that names no minion whatever minions there are.
func checkTarget(tgt string) error {
	if strings.Contains(tgt, "N@") {
		return nil // the node groups are options
	}
	if _, err := match.Compile(tgt, "compound", "", match.Options{}); err != nil {
		return &config.Finding{Text: "is no target: " + err.Error(), Suggestion: "write a glob such as 'web*', or a compound target"}
	}
	return nil
}

// checkCalls reports functions that can never be called at a target, or of a form. whole reports whether
// they are named with their module.
func checkCalls(value any, name string, whole bool) error {
	calls := data.ListOf(value)
	example := "ping"
	if whole {
		example = "test.ping"
	}
	if len(calls) == 0 {
		return &config.Finding{Text: "names no functions, so that it allows nothing",
			Suggestion: fmt.Sprintf("write {'%s': ['%s']}, or ['.*'] for all functions", name, example)}
	}
	var errs []error
	for i, c := range calls {
		fun, err := c, error(nil)
		if m, ok := c.(*data.Map); ok {
			var conditions any
			fun, conditions, err = single(m)
			if err == nil && len(data.ListOf(conditions)) == 0 {
				err = &config.Finding{Text: "has no conditions, so that it allows nothing",
					Suggestion: fmt.Sprintf("write '%v', or {'%v': [{args: ['a.*']}]}", fun, fun)}
			}
		}
		if text, ok := fun.(string); ok && err == nil {
			err = checkFunction(text, whole)
		}
		if err != nil {
			errs = append(errs, config.Below(config.Entry{Index: i, Value: c}, err))
		}
	}
	return errors.Join(errs...)
}

// checkFunction reports an expression that matches no name of a function. whole reports whether the name
// has its module.
func checkFunction(expr string, whole bool) error {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil // it compiles as an expression of Python, and may match
	}
	literal := !strings.ContainsAny(expr, `\[](){}*+?|^$`)
	fun, rest, hasArgs := strings.Cut(expr, " ")
	f := &config.Finding{Text: "matches no function"}
	switch {
	case literal && strings.Contains(expr, ","):
		f.Suggestion = "write each function as an entry of its own"
	case literal && hasArgs && isFunction(fun):
		f.Suggestion = fmt.Sprintf("a right names a function without its arguments: write '%s', or at a target {'%s': [{args: ['%s']}]}",
			fun, fun, strings.TrimSpace(rest))
	case !possible(re):
		f.Suggestion = "write a name such as 'test.ping', or an expression such as 'test.*'"
	case literal && whole && !strings.Contains(expr, "."):
		f.Suggestion = "a function has its module in its name: write '" + expr + ".*' for all functions of a module"
	case literal && !whole && strings.Contains(expr, "."):
		f.Suggestion = "the module is named already: write '" + expr[strings.LastIndexByte(expr, '.')+1:] + "'"
	default:
		return nil
	}
	return f
}

// possible reports whether an expression may match a name of a function. It looks at the characters that
// must be there.
func possible(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpNoMatch:
		return false
	case syntax.OpLiteral:
		return !slices.ContainsFunc(re.Rune, func(r rune) bool { return !inName(r) })
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if slices.ContainsFunc(nameRunes(), func(r rune) bool { return re.Rune[i] <= r && r <= re.Rune[i+1] }) {
				return true
			}
		}
		return false
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !possible(sub) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, possible)
	case syntax.OpRepeat:
		return re.Min == 0 || possible(re.Sub[0])
	}
	return true
}

func inName(r rune) bool { return slices.Contains(nameRunes(), r) }

// nameRunes returns the characters of names of functions.
func nameRunes() []rune {
	return []rune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
}
