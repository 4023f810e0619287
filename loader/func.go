package loader

import (
	"context"
	"reflect"

	"github.com/brineproject/brine/data"
)

// A Func is one function that can be called by name. F makes one of a Go function; plug-ins of another kind, whose
// functions are known only at run time, implement it themselves. Several goroutines may call it at once.
type Func interface {
	// Spec describes the function; it is the same each time and must not be changed.
	Spec() *Spec
	// Call runs the function with arguments that Spec.Bind found to fit.
	Call(ctx context.Context, b *Bound) (any, error)
}

// A Spec describes a function: its name, its parameters as Python knows them, and what sys.doc tells.
type Spec struct {
	Name   string  // behind the dot, as operators type it
	Def    string  // name in the texts of Python's errors; "" means Name
	Doc    string  // docstring; "" means that Docs of the plug-in has it under Source
	Source string  // Go function, as SourceOf names it
	Params []Param // positional or keyword parameters, in order
	Args   string  // name of *args, or ""
	Kwargs string  // name of **kwargs, or ""
	Out    string  // outputter of the result, or ""

	// Secrets are parameters, and words of **kwargs, of which none but the function may know. Those whose names say so
	// (password, token) are secret without it. SecretResult, unless it is nil, says that the result may hold secrets: below
	// these names, SecretAll being every one, and those that say so. Events and job caches of runners and wheel functions hide both.
	Secrets, SecretResult []string

	// KeywordOnly are parameters that other functions and templates may give by keyword alone. As in Salt, operators cannot, and
	// sys.argspec does not show them. They come with those of **kwargs.
	KeywordOnly []string

	// Ordered says that dictionaries in the result have an order, in which salt-call prints them: OrderedDict in Salt. On their
	// way to a master they lose it.
	Ordered bool

	// Changes are parameters whose dictionaries the function may change, as the template that calls it then sees.
	Changes []string

	docs    *Docs  // of the plug-in
	aliasOf string // name of the function that this is an alias of, or ""
}

// SecretAll among the names of Spec.SecretResult hides all but the keys of a dictionary, and a result that is none whole.
const SecretAll = "*"

// A Param is one parameter.
type Param struct {
	Name     string
	Required bool
	Default  any
}

// A Bound is a call's arguments, bound to the parameters.
type Bound struct {
	Values []any     // one a parameter, defaults filled in
	Args   []any     // what *args takes; never nil
	Kwargs *data.Map // what **kwargs takes; never nil
}

// A Function is a Go function with its Spec.
type Function struct {
	spec Spec
	err  error // what is wrong with the argument struct
	call func(ctx context.Context, b *Bound) (any, error)
}

var _ Func = (*Function)(nil)

// A Plain value gives itself in Salt's form: a result of package data. A function may return a type of its own that has it.
type Plain interface {
	Plain() any
}

// F returns fn under the name that operators type behind the module's dot. The fields of the struct A are the parameters, and R is
// the type of the result; the package comment tells how. Its documentation is the doc comment of fn, by way of the plug-in's Docs. A
// mistake in A's tags is reported by the registry that loads the function.
func F[A, R any](name string, fn func(context.Context, A) (R, error)) *Function {
	return newFunction(name, reflect.ValueOf(fn), reflect.TypeFor[A]())
}

// newFunction returns the function fn, whose parameters are the fields of the struct args. It is not generic, and calls fn by
// reflection, so that its code is but once in a program and not once for each function.
func newFunction(name string, fn reflect.Value, args reflect.Type) *Function {
	shape, err := shapeOf(args)
	f := &Function{spec: shape.spec, err: err}
	f.spec.Name, f.spec.Source = name, sourceOf(fn)
	f.call = func(ctx context.Context, b *Bound) (any, error) {
		a := reflect.New(args).Elem()
		if err := shape.fill(a, b); err != nil {
			return nil, err
		}
		out := fn.Call([]reflect.Value{reflect.ValueOf(ctx), a})
		err, _ := out[1].Interface().(error)
		return plain(out[0]), err
	}
	return f
}

// plain returns the result of a function as a value of package data.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Interface:
		if v.IsNil() {
			return nil
		}
	}
	if p, ok := v.Interface().(Plain); ok {
		return p.Plain()
	}
	return v.Interface()
}

// NoArgs is the argument struct of a function without parameters.
type NoArgs struct{}

// Document sets the docstring of a function that has no doc comment to take it from, and returns f.
func (f *Function) Document(doc string) *Function {
	f.spec.Doc = doc
	return f
}

// Def sets the name that Python's error texts give the function (set_ for set), and returns f.
func (f *Function) Def(name string) *Function {
	f.spec.Def = name
	return f
}

// Out sets the outputter of the function's results (Salt's __outputter__), and returns f.
func (f *Function) Out(outputter string) *Function {
	f.spec.Out = outputter
	return f
}

// Secret says that none but the function may know what these parameters hold, and returns f.
func (f *Function) Secret(params ...string) *Function {
	f.spec.Secrets = params
	return f
}

// Ordered says that dictionaries in the result have an order, and returns f.
func (f *Function) Ordered() *Function {
	f.spec.Ordered = true
	return f
}

// SecretResult says that the result is for the caller alone where names say so, as password does, and below these names;
// and returns f.
func (f *Function) SecretResult(names ...string) *Function {
	f.spec.SecretResult = append([]string{}, names...)
	return f
}

// Changes says that the function may change the dictionaries that these parameters hold, and returns f. Whoever calls it
// through Env.Call must then give ones that are its own.
func (f *Function) Changes(params ...string) *Function {
	f.spec.Changes = params
	return f
}

// Alias returns f under another name; its documentation says so.
func (f *Function) Alias(name string) *Function {
	alias := *f
	alias.spec.Name, alias.spec.Def, alias.spec.aliasOf = name, f.spec.def(), f.spec.Name
	return &alias
}

// Spec returns the description of f.
func (f *Function) Spec() *Spec { return &f.spec }

// Call runs f.
func (f *Function) Call(ctx context.Context, b *Bound) (any, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.call(ctx, b)
}

// Steps is the result of a function that reports its progress: each element is sent to the master as it comes. An error
// ends it and is the call's error.
type Steps func(yield func(any, error) bool)
