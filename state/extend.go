package state

import (
	"fmt"
	"slices"

	"github.com/brineproject/brine/data"
)

// requisiteKeywords are the arguments whose lists extend concatenates (salt/state.py,
// STATE_REQUISITE_KEYWORDS).
var requisiteKeywords = []string{
	"onchanges", "onchanges_any", "onfail", "onfail_any", "onfail_all", "onfail_stop", "prereq",
	"prerequired", "watch", "watch_any", "require", "require_any", "listen",
}

// extend applies the __extend__ entries of high data and returns the problems. If strict is true,
// the extended ID must have the same state (salt/state.py, reconcile_extend).
func extend(high *data.Map, strict bool) []string {
	list, _ := high.Value("__extend__").([]any)
	high.Delete("__extend__")
	var problems []string
	for _, item := range list {
		ext, _ := item.(*data.Map)
		for id, v := range ext.All() {
			body, ok := v.(*data.Map)
			if !ok {
				continue
			}
			target := extended(high, id, body, strict)
			if target == nil {
				problems = append(problems, cannotExtend(id, body))
			} else if !fromExcluded(high, body) {
				extendBody(target, body)
			}
		}
	}
	return problems
}

func cannotExtend(id any, body *data.Map) string {
	saltenv, sls := "base", "base"
	if body.Has("__sls__") {
		saltenv, sls = body.Text("__env__"), body.Text("__sls__")
	}
	return fmt.Sprintf("Cannot extend ID '%[1]s' in '%[2]s:%[3]s'. It is not part of the high state.\n"+
		"This is likely due to a missing include statement or an incorrectly typed ID.\n"+
		"Ensure that a state with an ID of '%[1]s' is available\nin environment '%[2]s' and to SLS '%[3]s'", data.Str(id), saltenv, sls)
}

// extended returns the body to extend: that of the ID itself, or of the only state with this name.
// It returns nil if there is none.
func extended(high *data.Map, id any, body *data.Map, strict bool) *data.Map {
	state := firstState(body)
	if state == nil {
		return nil
	}
	if target, ok := high.Value(id).(*data.Map); ok && target.Has(state) {
		return target
	}
	found := findName(high, id, state, strict)
	if len(found) != 1 {
		return nil
	}
	target, _ := high.Value(found[0].id).(*data.Map)
	return target
}

// firstState returns the first key of a body that names a state, or nil.
func firstState(body *data.Map) any {
	for key := range body.All() {
		if !internal(key) {
			return key
		}
	}
	return nil
}

// fromExcluded reports whether an extension comes from an excluded SLS.
func fromExcluded(high, body *data.Map) bool {
	list, _ := high.Value("__exclude__").([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		if m, ok := item.(*data.Map); ok {
			item = m.Value("sls")
		}
		sls, ok := item.(string)
		return ok && body.Value("__sls__") == sls
	})
}

func extendBody(target, body *data.Map) {
	for state, run := range body.All() {
		if internal(state) {
			continue
		}
		args, ok := target.Value(state).([]any)
		more, _ := run.([]any)
		if !ok {
			target.Set(state, run)
			continue
		}
		args = slices.Clone(args)
		for _, arg := range more {
			args = extendArgs(args, arg)
		}
		target.Set(state, args)
	}
}

// extendArgs adds an argument to a list, replacing the argument of the same name if there is one. A
// function replaces the function, and lists of requisites are concatenated.
func extendArgs(args []any, arg any) []any {
	updated := false
	for i, old := range args {
		if _, ok := arg.(string); ok {
			if _, ok := old.(string); ok {
				args[i], updated = arg, true
			}
			continue
		}
		m, _ := arg.(*data.Map)
		o, _ := old.(*data.Map)
		if m.Len() == 0 || o.Len() == 0 {
			continue
		}
		switch key := firstKey(m); {
		case data.Equal(key, firstKey(o)):
			args[i], updated = extendArg(o, m, key), true
		case key == "name" && firstKey(o) == "names":
			args[i] = arg
		}
	}
	if !updated {
		args = append(args, arg)
	}
	return args
}

func extendArg(old, arg *data.Map, key any) *data.Map {
	name, _ := key.(string)
	have, ok1 := old.Value(key).([]any)
	more, ok2 := arg.Value(key).([]any)
	if !ok1 || !ok2 || !slices.Contains(requisiteKeywords, name) {
		return arg
	}
	old.Set(key, slices.Concat(have, more))
	return old
}
