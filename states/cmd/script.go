package cmd

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state/change"
)

type scriptArgs struct {
	Name            any
	Source          any       `default:"None"`
	Template        any       `default:"None"`
	Cwd             any       `default:"None"`
	Runas           any       `default:"None"`
	Password        any       `default:"None"`
	Shell           any       `default:"None"`
	Env             any       `default:"None"`
	Stateful        any       `default:"False"`
	Timeout         any       `default:"None"`
	UseVt           any       `default:"False"`
	OutputLoglevel  any       `default:"'debug'"`
	HideOutput      any       `default:"False"`
	Defaults        any       `default:"None"`
	Context         any       `default:"None"`
	SuccessRetcodes any       `default:"None"`
	SuccessStdout   any       `default:"None"`
	SuccessStderr   any       `default:"None"`
	Kwargs          *data.Map `kwargs:"kwargs"`
}

// script fetches a script and runs it. The state succeeds if the script returns 0. Arguments not
// listed here are those of cmd.run.
//
// name
//
//	The location of the script: salt://, http(s)://, or a path. Anything after a space is passed
//	as arguments.
//
// source
//
//	The location of the script, if the name is just a label.
//
// args
//
//	The arguments of the script, as a string.
//
// template
//
//	Engine that renders the script first, with the variables of context, which override those of
//	defaults.
//
//	salt://scripts/foo.sh:
//	  cmd.script:
//	    - args: "x y"
//	    - cwd: /
func (m *module) script(ctx context.Context, a scriptArgs) (any, error) {
	words := a.Kwargs.Clone()
	for key, v := range data.NewMap("source", a.Source, "template", a.Template, "cwd", a.Cwd,
		"runas", a.Runas, "password", a.Password, "shell", a.Shell, "env", a.Env, "stateful",
		a.Stateful, "timeout", a.Timeout, "use_vt", a.UseVt, "output_loglevel", a.OutputLoglevel,
		"hide_output", a.HideOutput, "defaults", a.Defaults, "context", a.Context,
		"success_retcodes", a.SuccessRetcodes, "success_stdout", a.SuccessStdout, "success_stderr",
		a.SuccessStderr).All() {
		words.Set(key, v)
	}
	return m.scriptWords(ctx, a.Name, words)
}

// scriptWords is script with all arguments as keywords.
func (m *module) scriptWords(ctx context.Context, name any, words *data.Map) (*data.Map, error) {
	o := m.order(ctx, name, words)
	if complaint := badScript(words); complaint != "" {
		return change.Failed(o.command, complaint), nil
	}
	source := words.Value("source")
	if source == nil {
		source = o.command
	}
	saltenv := change.CallOf(ctx).SaltEnv
	o.scriptWords(saltenv)
	if o.skippedInTest() {
		return o.would(fmt.Sprintf("Command '%s' would have been executed", data.Str(o.command)), nil)
	}
	if complaint := missingDirectory(words); complaint != "" {
		return change.Failed(o.command, complaint), nil
	}
	outcome, err := m.result(ctx, "cmd.script", []any{source}, o.words)
	switch {
	case err != nil && caught(err):
		return change.Failed(o.command, err.Error()), nil
	case err != nil:
		return nil, err
	}
	comment := fmt.Sprintf("Command '%s' run", data.Str(o.command))
	if data.Truth(outcome.Value("cache_error")) {
		comment = fmt.Sprintf("Unable to cache script %s from saltenv '%s'",
			data.Str(source), saltenv)
	}
	return o.done(change.New(o.command, !data.Truth(outcome.Value("retcode")), outcome, comment))
}

// scriptWords sets the arguments for cmd.script.
func (o *order) scriptWords(saltenv string) {
	variables := &data.Map{}
	for _, key := range []string{"defaults", "context"} {
		if m, ok := o.words.Value(key).(*data.Map); ok {
			variables.Update(m)
		}
		o.words.Delete(key)
	}
	o.words.Delete("source")
	o.words.Set("context", variables)
	o.words.Set("saltenv", saltenv)
	name := data.Str(o.command)
	if _, args, ok := strings.Cut(name, " "); ok && len(strings.Fields(name)) > 1 &&
		!data.Truth(o.words.Value("args")) {
		o.words.Set("args", args)
	}
}

func badScript(words *data.Map) string {
	if complaint := badEnv(words); complaint != "" {
		return complaint
	}
	for _, key := range []string{"context", "defaults"} {
		v := words.Value(key)
		if _, ok := v.(*data.Map); !ok && data.Truth(v) {
			return "Invalidly-formatted '" + key + "' parameter. Must be formed as a dict."
		}
	}
	if runtime.GOOS == "windows" && data.Truth(words.Value("runas")) &&
		!data.Truth(words.Value("password")) {
		return "Must supply a password if runas argument is used on Windows."
	}
	return ""
}
