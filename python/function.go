package python

import (
	"cmp"
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A function is a Python function as the rest of Brine sees it.
type function struct {
	files     *Files
	file      string
	operation string // of the host program, that calls it; "" is call
	spec      loader.Spec
}

var (
	_ loader.Func   = (*function)(nil)
	_ loader.Binder = (*function)(nil)
)

// newFunction returns the function that d describes (brinehost/describe.py, function).
func newFunction(files *Files, file string, d *data.Map) *function {
	s := loader.Spec{
		Name: data.Str(d.Value("name")), Def: data.Str(d.Value("def")),
		KeywordOnly: data.TextsOf(d.Value("keyword_only")),
	}
	s.Doc, _ = d.Value("doc").(string)
	s.Args, _ = d.Value("args").(string)
	s.Kwargs, _ = d.Value("kwargs").(string)
	s.Out, _ = d.Value("out").(string)
	params, defaults := data.TextsOf(d.Value("params")), listOf(d.Value("defaults"))
	for i, name := range params {
		p := loader.Param{Name: name, Required: true}
		if at := i - (len(params) - len(defaults)); at >= 0 {
			p.Required, p.Default = false, defaults[at]
		}
		s.Params = append(s.Params, p)
	}
	return &function{files: files, file: file, spec: s}
}

// Spec returns the description of the function.
func (f *function) Spec() *loader.Spec { return &f.spec }

// Call calls the function with arguments that Spec.Bind has bound: required parameters by position,
// the others by keyword.
func (f *function) Call(ctx context.Context, b *loader.Bound) (any, error) {
	if len(b.Args) > 0 {
		return f.CallWith(ctx, append(append([]any{}, b.Values...), b.Args...), b.Kwargs)
	}
	var args []any
	kwargs := data.NewMap()
	for i, p := range f.spec.Params {
		if p.Required && len(args) == i {
			args = append(args, b.Values[i])
		} else {
			kwargs.Set(p.Name, b.Values[i])
		}
	}
	kwargs.Update(b.Kwargs)
	return f.CallWith(ctx, args, kwargs)
}

// CallWith calls the function in the worker of the job that ctx belongs to. Python binds the
// arguments: a decorated function gets them as they were given.
func (f *function) CallWith(ctx context.Context, args []any, kwargs *data.Map) (any, error) {
	extra := data.NewMap()
	if f.files.Extra != nil {
		extra = f.files.Extra(ctx)
	}
	if f.files.kind == "states" && len(args) == 0 {
		args, kwargs = f.stateArguments(kwargs)
	}
	r, err := f.files.call(ctx, cmp.Or(f.operation, "call"), f.files.kind, f.file, f.spec.Name,
		append([]any{}, args...), f.withoutObjects(kwargs), extra)
	if err != nil {
		return nil, err
	}
	if code, ok := r.notes.Get("retcode"); ok {
		loader.ContextOf(ctx).Set("retcode", code)
	}
	return r.value, nil
}

// stateArguments returns the arguments of a state as Salt passes them: required parameters by
// position, all others by keyword, defaults too (salt/utils/args.py, format_call).
func (f *function) stateArguments(given *data.Map) (args []any, kwargs *data.Map) {
	args, kwargs = []any{}, data.NewMap()
	for k, v := range given.All() {
		kwargs.Set(k, v)
	}
	for i, p := range f.spec.Params {
		v, ok := kwargs.Get(p.Name)
		switch {
		case p.Required && ok && len(args) == i:
			args = append(args, v)
			kwargs.Delete(p.Name)
		case !p.Required && !ok:
			kwargs.Set(p.Name, p.Default)
		}
	}
	return args, kwargs
}

// withoutObjects returns keywords without the defaults that are objects of Python: here they are but
// the text of their repr, and Python has them.
func (f *function) withoutObjects(given *data.Map) *data.Map {
	kwargs := data.NewMap()
	for k, v := range given.All() {
		kwargs.Set(k, v)
	}
	for _, p := range f.spec.Params {
		object, ok := p.Default.(data.Object)
		if v, given := kwargs.Get(p.Name); ok && given && v == any(object) {
			kwargs.Delete(p.Name)
		}
	}
	return kwargs
}
