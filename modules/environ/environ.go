// Package environ is Salt's module environ: it reads and sets the environment of the minion's
// process (salt/modules/environ.py).
//
// Differences from Salt: jobs are not separate processes, so a variable that a job sets stays set
// until the minion exits, and update_minion only fires its event.
package environ

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module environ.
func Plugin() loader.Plugin { return loader.Plugin{Name: "environ", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("get", m.get),
		loader.F("has_value", m.hasValue),
		loader.F("item", m.item),
		loader.F("items", m.items),
		loader.F("setenv", m.setenv),
		loader.F("setval", m.setval),
	}}, nil
}

type getArgs struct {
	Key     any
	Default any `default:"''"`
}

// get returns the value of a variable, or default if it is not set.
//
// CLI Example:
//
//	salt '*' environ.get foo
//	salt '*' environ.get baz default=False
func (m *module) get(_ context.Context, a getArgs) (any, error) {
	key, ok := a.Key.(string)
	if !ok {
		return false, nil
	}
	return valueOr(key, a.Default), nil
}

func valueOr(key string, otherwise any) any {
	if v, ok := os.LookupEnv(key); ok {
		return v
	}
	return otherwise
}

type hasValueArgs struct {
	Key   any
	Value any `default:"None"`
}

// hasValue returns whether a variable is set. If value is given, it returns whether the variable
// has that value.
//
// CLI Example:
//
//	salt '*' environ.has_value foo
func (m *module) hasValue(_ context.Context, a hasValueArgs) (any, error) {
	key, ok := a.Key.(string)
	if !ok {
		return false, nil
	}
	v, set := os.LookupEnv(key)
	return set && (a.Value == nil || a.Value == v), nil
}

type itemArgs struct {
	Keys    any
	Default any `default:"''"`
}

// item returns a dictionary of variables, given as one name or a list, with default for those that
// are not set.
//
// CLI Example:
//
//	salt '*' environ.item foo
//	salt '*' environ.item '[foo, baz]' default=None
func (m *module) item(_ context.Context, a itemArgs) (any, error) {
	keys, _ := a.Keys.([]any)
	if key, ok := a.Keys.(string); ok {
		keys = []any{key}
	}
	ret := data.NewMap()
	for _, k := range keys {
		key, ok := k.(string)
		if !ok {
			return nil, loader.TypeError("str expected, not %s", loader.TypeName(k))
		}
		ret.Set(key, valueOr(key, a.Default))
	}
	return ret, nil
}

// items returns all variables.
//
// CLI Example:
//
//	salt '*' environ.items
func (m *module) items(context.Context, loader.NoArgs) (any, error) {
	ret := data.NewMap()
	for _, line := range os.Environ() {
		if i := strings.IndexByte(line, '='); i > 0 {
			ret.Set(line[:i], line[i+1:])
		}
	}
	return ret, nil
}

type setvalArgs struct {
	Key         any
	Val         any
	FalseUnsets any `default:"False"`
	Permanent   any `default:"False"`
}

// setval sets a variable. It returns its value, or False if that failed.
//
// val
//
//	A string, or False.
//
// false_unsets : False
//
//	True: the value False unsets the variable, and the result is None. Otherwise it sets an empty
//	string.
//
// CLI Example:
//
//	salt '*' environ.setval foo bar
//	salt '*' environ.setval baz val=False false_unsets=True
func (m *module) setval(ctx context.Context, a setvalArgs) (any, error) {
	return m.set(ctx, a.Key, a.Val, setting{a.FalseUnsets == true, a.Permanent}), nil
}

// A setting is how a variable is set.
type setting struct {
	unsets    bool // False removes it
	permanent any  // as the argument has it
}

func (m *module) set(ctx context.Context, k, val any, s setting) any {
	key, isText := k.(string)
	if val == false {
		if s.unsets && isText {
			_ = os.Unsetenv(key) // an invalid name is never set
			if err := m.forget(ctx, key, s.permanent); err != nil {
				m.env.Log.Errorf("environ: Exception occurred when unsetting environ key '%s': '%v'", key, err)
				return false
			}
			return nil
		}
		val = ""
	}
	text, ok := val.(string)
	if !ok {
		m.env.Log.Debugf("environ: 'val' argument for key '%s' is not a string or False: '%s'",
			data.Str(k), data.Str(val))
		return false
	}
	if !isText {
		m.env.Log.Errorf("environ: Exception occurred when setting environ key '%s': 'str expected, not %s'", data.Str(k), loader.TypeName(k))
		return false
	}
	err := os.Setenv(key, text)
	if err == nil {
		err = m.keep(ctx, key, text, s.permanent)
	}
	if err != nil {
		m.env.Log.Errorf("environ: Exception occurred when setting environ key '%s': '%v'", key,
			err)
		return false
	}
	return text
}

type setenvArgs struct {
	Environ      any
	FalseUnsets  any `default:"False"`
	ClearAll     any `default:"False"`
	UpdateMinion any `default:"False"`
	Permanent    any `default:"False"`
}

// setenv sets the variables of a dictionary. It returns a dictionary with the result of
// environ.setval for each. It returns False if environ is not a dictionary, or has a value that is
// neither a string nor False.
//
// false_unsets : False
//
//	As in environ.setval.
//
// clear_all : False
//
//	Treat all other variables as False. The minion may need them.
//
// update_minion : False
//
//	Fire the event environ_setenv on the minion's event bus.
//
// CLI Example:
//
//	salt '*' environ.setenv '{"foo": "bar", "baz": "quux"}'
//	salt '*' environ.setenv '{"a": "b", "c": False}' false_unsets=True
func (m *module) setenv(ctx context.Context, a setenvArgs) (any, error) {
	vars, ok := a.Environ.(*data.Map)
	if !ok {
		m.env.Log.Debugf("environ: 'environ' argument is not a dict: '%s'", data.Str(a.Environ))
		return false, nil
	}
	ret, how := data.NewMap(), setting{a.FalseUnsets == true, a.Permanent}
	if a.ClearAll == true {
		m.clear(ctx, vars, how, ret)
	}
	for k, v := range vars.All() {
		if _, isText := v.(string); !isText && v != false {
			m.env.Log.Debugf("environ: 'val' argument for key '%s' is not a string or False: '%s'",
				data.Str(k), data.Str(v))
			return false, nil
		}
		ret.Set(k, m.set(ctx, k, v, how))
	}
	if a.UpdateMinion != true {
		return ret, nil
	}
	event := data.NewMap("environ", vars, "false_unsets", a.FalseUnsets, "clear_all", a.ClearAll,
		"permanent", a.Permanent)
	_, err := m.env.Call(ctx, "event.fire", []any{event, "environ_setenv"}, nil)
	return ret, err
}

// clear sets the variables that are not in vars to False.
func (m *module) clear(ctx context.Context, vars *data.Map, how setting, ret *data.Map) {
	for _, line := range os.Environ() {
		if key, _, _ := strings.Cut(line, "="); key != "" && !vars.Has(key) {
			ret.Set(key, m.set(ctx, key, false, how))
		}
	}
}

// placeOf returns the hive and the key of the registry that keep variables: those of the user, or
// for HKLM of the system. ok is false if a variable is not permanent, and on other systems than
// Windows.
func placeOf(permanent any) (hive, key string, ok bool) {
	if runtime.GOOS != "windows" || !data.Truth(permanent) {
		return "", "", false
	}
	if permanent == "HKLM" {
		return "HKLM", `SYSTEM\CurrentControlSet\Control\Session Manager\Environment`, true
	}
	return "HKCU", "Environment", true
}

// keep writes a permanent variable to the registry.
func (m *module) keep(ctx context.Context, name, value string, permanent any) error {
	hive, key, ok := placeOf(permanent)
	if !ok {
		return nil
	}
	done, err := m.env.Call(ctx, "reg.set_value", []any{hive, key, name, value}, nil)
	if err == nil && done != true {
		err = fmt.Errorf(`the registry refuses to set it in %s\%s`, hive, key)
	}
	return err
}

// forget removes a permanent variable from the registry.
func (m *module) forget(ctx context.Context, name string, permanent any) error {
	hive, key, ok := placeOf(permanent)
	if !ok {
		return nil
	}
	_, err := m.env.Call(ctx, "reg.delete_value", []any{hive, key, name}, nil)
	return err
}
