package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// The parameters of the functions, in the order of the original. Other parameters can still be
// given by keyword.
const (
	runParams = "cmd cwd stdin runas group shell python_shell env clean_env template rstrip umask output_encoding " +
		"output_loglevel log_callback hide_output timeout reset_system_locale ignore_retcode saltenv use_vt redirect_stderr " +
		"bg password encoded_cmd raise_err prepend_path success_retcodes success_stdout success_stderr"
	shellParams = "cmd cwd stdin runas group shell env clean_env template rstrip umask output_encoding output_loglevel " +
		"log_callback hide_output timeout reset_system_locale ignore_retcode saltenv use_vt bg password prepend_path " +
		"success_retcodes success_stdout success_stderr"
	stdoutParams = "cmd cwd stdin runas group shell python_shell env clean_env template rstrip umask output_encoding " +
		"output_loglevel log_callback hide_output timeout reset_system_locale ignore_retcode saltenv use_vt password " +
		"prepend_path success_retcodes success_stdout success_stderr"
	allParams = "cmd cwd stdin runas group shell python_shell env clean_env template rstrip umask output_encoding " +
		"output_loglevel log_callback hide_output timeout reset_system_locale ignore_retcode saltenv use_vt redirect_stderr " +
		"password encoded_cmd prepend_path success_retcodes success_stdout success_stderr"
	retcodeParams = "cmd cwd stdin runas group shell python_shell env clean_env template umask output_encoding output_loglevel " +
		"log_callback timeout reset_system_locale ignore_retcode saltenv use_vt password success_retcodes success_stdout " +
		"success_stderr"
	bgParams = "cmd cwd runas group shell python_shell env clean_env template umask timeout output_encoding output_loglevel " +
		"log_callback reset_system_locale ignore_retcode saltenv password prepend_path success_retcodes success_stdout " +
		"success_stderr"
	scriptParams = "source args cwd stdin runas group shell python_shell env template umask output_encoding output_loglevel " +
		"log_callback hide_output timeout reset_system_locale saltenv use_vt bg password success_retcodes success_stdout " +
		"success_stderr"
	scriptRetcodeParams = "source args cwd stdin runas group shell python_shell env template umask timeout " +
		"reset_system_locale saltenv output_encoding output_loglevel log_callback use_vt password success_retcodes " +
		"success_stdout success_stderr"
	chrootParams = "root cmd cwd stdin runas group shell python_shell binds env clean_env template rstrip umask " +
		"output_encoding output_loglevel log_callback hide_output timeout reset_system_locale ignore_retcode saltenv use_vt " +
		"bg success_retcodes success_stdout success_stderr"
	powershellParams = "cmd cwd stdin runas shell env clean_env template rstrip umask output_encoding output_loglevel " +
		"hide_output timeout reset_system_locale ignore_retcode saltenv use_vt password depth encode_cmd success_retcodes " +
		"success_stdout success_stderr"
	powershellAllParams = "cmd cwd stdin runas shell env clean_env template rstrip umask output_encoding output_loglevel " +
		"quiet timeout reset_system_locale ignore_retcode saltenv use_vt password depth encode_cmd force_list " +
		"success_retcodes success_stdout success_stderr"

	required = "cmd source root lang code" // without a default
	falses   = "clean_env hide_output ignore_retcode use_vt bg encoded_cmd raise_err redirect_stderr encode_cmd force_list quiet"
	trues    = "rstrip reset_system_locale"
)

// A function is a function of the module with parameters listed by name.
type function struct {
	spec loader.Spec
	// error texts of keywords that the function passes on itself and callers must not give
	fixed map[string]string
	call  func(ctx context.Context, a *arguments) (any, error)
}

var _ loader.Func = (*function)(nil)

func (m requests) function(
	name, params string, call func(context.Context, *arguments) (any, error),
) *function {
	f := &function{spec: loader.Spec{Name: name, Source: loader.SourceOf(call), Kwargs: "kwargs"},
		call: call}
	for p := range strings.FieldsSeq(params) {
		f.spec.Params = append(f.spec.Params, loader.Param{
			Name:     p,
			Required: isOneOf(p, required),
			Default:  m.defaultOf(p),
		})
	}
	return f
}

// defaultOf returns the default of a parameter, nil for most.
func (m requests) defaultOf(param string) any {
	switch {
	case param == "shell":
		return m.shell
	case param == "output_loglevel":
		return "debug"
	case isOneOf(param, trues):
		return true
	case isOneOf(param, falses):
		return false
	}
	return nil
}

func isOneOf(word, words string) bool { return slices.Contains(strings.Fields(words), word) }

// with changes the default of a parameter and returns f.
func (f *function) with(param string, v any) *function {
	for i := range f.spec.Params {
		if f.spec.Params[i].Name == param {
			f.spec.Params[i].Default = v
		}
	}
	return f
}

// The texts of Python's interpreter for a keyword that is given twice.
const (
	twiceRun    = "salt.loaded.int.module.cmdmod._run() got multiple values for keyword argument '%s'"
	twiceRunAll = "salt.loaded.int.module.cmdmod.run_all() got multiple values for keyword argument '%s'"
	twiceFirst  = "run_all() got multiple values for argument '%s'"
)

// fix forbids keywords, with the text of the error, and returns f.
func (f *function) fix(keywords, text string) *function {
	if f.fixed == nil {
		f.fixed = map[string]string{}
	}
	for name := range strings.FieldsSeq(keywords) {
		f.fixed[name] = text
	}
	return f
}

// Spec returns the description of f.
func (f *function) Spec() *loader.Spec { return &f.spec }

// Call runs f.
func (f *function) Call(ctx context.Context, b *loader.Bound) (any, error) {
	for name, text := range f.fixed {
		if b.Kwargs.Has(name) {
			return nil, loader.TypeError(text, name)
		}
	}
	a := &arguments{values: b.Kwargs.Clone()}
	for i, p := range f.spec.Params {
		a.values.Set(p.Name, b.Values[i])
	}
	return f.call(ctx, a)
}

// arguments are the arguments of one call by name, parameters and other keywords alike.
type arguments struct{ values *data.Map }

// get returns an argument, or nil if it is not given.
func (a *arguments) get(name string) any { return a.values.Value(name) }

// truth reports whether an argument is true in Python.
func (a *arguments) truth(name string) bool { return data.Truth(a.get(name)) }

// text returns an argument as text, or "" if it is false in Python.
func (a *arguments) text(name string) string {
	v := a.get(name)
	if !data.Truth(v) {
		return ""
	}
	return data.Str(v)
}

// or returns an argument, or a default if it is not given.
func (a *arguments) or(name string, otherwise any) any {
	if v, ok := a.values.Get(name); ok {
		return v
	}
	return otherwise
}
