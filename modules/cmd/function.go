package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// The parameters of the functions, in the order of the original. What is no parameter of a function can still be given to it by
// keyword.
const (
	runParams = "cmd cwd stdin runas group shell python_shell env clean_env template rstrip umask output_encoding " +
		"output_loglevel log_callback hide_output timeout reset_system_locale ignore_retcode saltenv use_vt bg password " +
		"encoded_cmd raise_err prepend_path success_retcodes success_stdout success_stderr"
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

	required = "cmd source root lang code" // have no default
	falses   = "clean_env hide_output ignore_retcode use_vt bg encoded_cmd raise_err redirect_stderr encode_cmd force_list quiet"
	trues    = "rstrip reset_system_locale"
)

// A function is a function of the module whose parameters are listed by name.
type function struct {
	spec  loader.Spec
	fixed map[string]string // error texts of keywords that the function gives to what is below it, so that nobody else may
	call  func(ctx context.Context, a *arguments) (any, error)
}

var _ loader.Func = (*function)(nil)

func (m *module) function(name, params string, call func(context.Context, *arguments) (any, error)) *function {
	f := &function{spec: loader.Spec{Name: name, Source: loader.SourceOf(call), Kwargs: "kwargs"}, call: call}
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
func (m *module) defaultOf(param string) any {
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

// with gives a parameter another default, and returns f.
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

// fix names keywords that cannot be given and the text that says so, and returns f.
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

// arguments are those of one call by name, parameters and further keywords alike.
type arguments struct{ values *data.Map }

// get returns an argument, nil when it is not given.
func (a *arguments) get(name string) any { return a.values.Value(name) }

// truth reports whether Python takes the argument for true.
func (a *arguments) truth(name string) bool { return data.Truth(a.get(name)) }

// text returns an argument as text, "" for all that Python takes for false.
func (a *arguments) text(name string) string {
	v := a.get(name)
	if !data.Truth(v) {
		return ""
	}
	return data.Str(v)
}

// or returns an argument, or a default when nobody gave it.
func (a *arguments) or(name string, otherwise any) any {
	if v, ok := a.values.Get(name); ok {
		return v
	}
	return otherwise
}
