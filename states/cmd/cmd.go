// Package cmd is Salt's state cmd: it runs commands and scripts, some only when a watched state
// changes (salt/states/cmd.py). It uses the module cmd.
//
// A command counts as a change whenever it runs. Whether it runs depends on onlyif, unless or
// creates, or on a watch. With stateful, the last line of the command's output tells whether it
// changed anything. In test mode no command runs, except for stateful with test_name.
//
// Oddities kept from Salt: with stateful, the last line loses a character if it is the only one.
// cmd.call and cmd.wait_call, which call a Python function in Salt, always fail because there is no
// Python.
package cmd

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Plugin returns the state cmd.
func Plugin() loader.Plugin { return loader.Plugin{Name: "cmd", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("run", m.run),
		loader.F("script", m.script),
		loader.F("call", m.call),
		loader.F("wait", m.wait),
		loader.F("wait", m.wait).Alias("watch"),
		loader.F("wait_script", m.waitScript),
		loader.F("wait_call", m.waitCall),
		loader.F("mod_watch", m.modWatch),
	}}, nil
}

type waitArgs struct {
	Name            any
	Cwd             any       `default:"None"`
	Root            any       `default:"None"`
	Runas           any       `default:"None"`
	Shell           any       `default:"None"`
	Env             any       `default:"()"`
	Stateful        any       `default:"False"`
	OutputLoglevel  any       `default:"'debug'"`
	HideOutput      any       `default:"False"`
	UseVt           any       `default:"False"`
	SuccessRetcodes any       `default:"None"`
	SuccessStdout   any       `default:"None"`
	SuccessStderr   any       `default:"None"`
	Kwargs          *data.Map `kwargs:"kwargs"`
}

// wait runs a command only when a watched state changed something. The arguments are those of
// cmd.run.
//
//	run_postinstall:
//	  cmd.wait:
//	    - name: /usr/local/bin/postinstall.sh
//	    - watch:
//	      - file: /usr/local/bin/postinstall.sh
func (m *module) wait(_ context.Context, a waitArgs) (any, error) {
	return change.Unchanged(a.Name, ""), nil
}

type waitScriptArgs struct {
	Name            any
	Source          any       `default:"None"`
	Template        any       `default:"None"`
	Cwd             any       `default:"None"`
	Runas           any       `default:"None"`
	Shell           any       `default:"None"`
	Env             any       `default:"None"`
	Stateful        any       `default:"False"`
	UseVt           any       `default:"False"`
	OutputLoglevel  any       `default:"'debug'"`
	HideOutput      any       `default:"False"`
	SuccessRetcodes any       `default:"None"`
	SuccessStdout   any       `default:"None"`
	SuccessStderr   any       `default:"None"`
	Kwargs          *data.Map `kwargs:"kwargs"`
}

// waitScript runs a script only when a watched state changed something. The arguments are those of
// cmd.script.
//
//	run_migration:
//	  cmd.wait_script:
//	    - source: salt://scripts/migrate.sh
//	    - watch:
//	      - file: /srv/app
func (m *module) waitScript(_ context.Context, a waitScriptArgs) (any, error) {
	return change.Unchanged(a.Name, ""), nil
}

type callArgs struct {
	Name           any
	Func           any
	Args           any       `default:"()"`
	Kws            any       `default:"None"`
	OutputLoglevel any       `default:"'debug'"`
	HideOutput     any       `default:"False"`
	UseVt          any       `default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// call stands for a call of a Python function by a pydsl state. There is no Python, so it fails.
func (m *module) call(_ context.Context, a callArgs) (any, error) {
	return nil, loader.TypeError("'%s' object is not callable", loader.TypeName(a.Func))
}

type waitCallArgs struct {
	Name           any
	Func           any
	Args           any       `default:"()"`
	Kws            any       `default:"None"`
	Stateful       any       `default:"False"`
	UseVt          any       `default:"False"`
	OutputLoglevel any       `default:"'debug'"`
	HideOutput     any       `default:"False"`
	Kwargs         *data.Map `kwargs:"kwargs"`
}

// waitCall does nothing unless a watched state changed something. Then it fails like cmd.call.
func (m *module) waitCall(_ context.Context, a waitCallArgs) (any, error) {
	return change.Unchanged(a.Name, ""), nil
}

type modWatchArgs struct {
	Name   any
	Kwargs *data.Map `kwargs:"kwargs"`
}

// modWatch runs the command or script of a state when a watched state changed something.
func (m *module) modWatch(ctx context.Context, a modWatchArgs) (any, error) {
	words := a.Kwargs.Clone()
	fun := data.Str(words.Value("sfun"))
	words.Delete("sfun")
	words.Delete("__reqs__")
	stateful := data.Truth(words.Value("stateful"))
	if stateful {
		words.Delete("stateful")
	}
	var run func(context.Context, any, *data.Map) (*data.Map, error)
	switch fun {
	case "wait", "run", "watch":
		run = m.runWords
	case "wait_script", "script":
		run = m.scriptWords
	case "wait_call", "call":
		return m.watchCall(a.Name, fun, words)
	default:
		return change.Failed(a.Name, "cmd."+fun+
			" does not work with the watch requisite, please use cmd.wait or cmd.wait_script"), nil
	}
	ret, err := run(ctx, a.Name, words)
	if err != nil || !stateful {
		return ret, err
	}
	return reinterpreted(ret)
}

func (m *module) watchCall(name any, fun string, words *data.Map) (any, error) {
	f := words.Value("func")
	if !data.Truth(f) {
		return change.Failed(name, "cmd."+fun+" needs a named parameter func"), nil
	}
	return nil, loader.TypeError("'%s' object is not callable", loader.TypeName(f))
}
