package loader

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/brineproject/brine/data"
)

// A Func is a function that can be called by name. F creates one from a Go function; plug-ins whose
// functions are known only at run time implement it themselves. A Func must be safe for concurrent
// use.
type Func interface {
	// Spec describes the function. It never changes and must not be modified.
	Spec() *Spec
	// Call runs the function with arguments bound by Spec.Bind.
	Call(ctx context.Context, b *Bound) (any, error)
}

// A Binder is a Func that binds its arguments itself, such as a function of another language. A
// Registry calls CallWith with the arguments as they were given, and neither Spec.Bind nor Call.
type Binder interface {
	CallWith(ctx context.Context, args []any, kwargs *data.Map) (any, error)
}

// A Spec describes a function: its name, its parameters in Python's terms, and its documentation
// for sys.doc.
type Spec struct {
	Name   string  // name after the dot, as operators type it
	Def    string  // name in Python's error texts; "" means Name
	Doc    string  // docstring; "" means the entry Source of the plug-in's Docs
	Source string  // the Go function, as returned by SourceOf
	Params []Param // positional or keyword parameters, in order
	Args   string  // name of *args, or ""
	Kwargs string  // name of **kwargs, or ""
	Out    string  // outputter of the result, or ""

	// Secrets are the parameters, and keywords of **kwargs, whose values only the function may see.
	// Parameters whose names imply a secret (password, token) need not be listed. If SecretResult
	// is not nil, the result may contain secrets: values under these names (SecretAll means every
	// name) and under names that imply a secret. Events and job caches of runner and wheel
	// functions hide both.
	Secrets, SecretResult []string

	// KeywordOnly are parameters that other functions and templates can pass by keyword only. As in
	// Salt, operators cannot set them and sys.argspec does not show them. They are passed along
	// with **kwargs.
	KeywordOnly []string

	// Ordered means that dictionaries in the result are ordered (OrderedDict in Salt), and
	// salt-call prints them in that order. The order is lost on the way to a master.
	Ordered bool

	// Changes are parameters whose dictionaries the function may modify. A template that calls it
	// sees the changes.
	Changes []string

	// Strict makes a call with invalid arguments a failure of its job and of salt-run. With functions
	// that Salt has, both count as a success, as in Salt.
	Strict bool

	docs    *Docs  // of the plug-in; set by the registry in a copy
	aliasOf string // name of the aliased function, or ""
}

// SecretAll in Spec.SecretResult hides all values of a dictionary but keeps its keys. A result that
// is not a dictionary is hidden entirely.
const SecretAll = "*"

// A Param is one parameter.
type Param struct {
	Name     string
	Required bool
	Default  any
}

// A Bound holds the arguments of a call, bound to parameters.
type Bound struct {
	Values []any     // one per parameter, defaults filled in
	Args   []any     // arguments for *args; never nil
	Kwargs *data.Map // arguments for **kwargs; never nil
}

// A Function is a Go function with its Spec.
type Function struct {
	spec Spec
	err  error // error in the argument struct
	call func(ctx context.Context, b *Bound) (any, error)
}

var _ Func = (*Function)(nil)

// Plain is implemented by result types. Plain returns the result as a value of package data, in
// Salt's form.
type Plain interface {
	Plain() any
}

// F returns fn, a func(context.Context, A) (R, error), as a function with the given name, the one
// after the module's dot. The fields of the struct A are the parameters and R is the type of the
// result; see the package comment. Its documentation is the doc comment of fn, found in the plug-in's
// Docs. Errors in fn's type and in A's tags are reported by the registry that loads the function.
//
// F is not generic: the name of each instance would contain all fields of A, and a program has
// thousands of instances.
func F(name string, fn any) *Function {
	v := reflect.ValueOf(fn)
	f := &Function{spec: Spec{Name: name}}
	if f.err = checkType(v); f.err != nil {
		return f
	}
	args := v.Type().In(1)
	shape, err := shapeOf(args)
	f.spec, f.err = shape.spec, err
	f.spec.Name, f.spec.Source = name, sourceOf(v)
	f.call = func(ctx context.Context, b *Bound) (any, error) {
		a := reflect.New(args).Elem()
		if err := shape.fill(a, b); err != nil {
			return nil, err
		}
		out := v.Call([]reflect.Value{reflect.ValueOf(ctx), a})
		err, _ := out[1].Interface().(error)
		return plain(out[0]), err
	}
	return f
}

// checkType returns an error unless fn is a function with a context and one more argument, and with
// a result and an error.
func checkType(fn reflect.Value) error {
	if fn.Kind() != reflect.Func {
		return fmt.Errorf("a %s in place of a function", fn.Kind())
	}
	t := fn.Type()
	if t.NumIn() != 2 || t.NumOut() != 2 || t.In(0) != reflect.TypeFor[context.Context]() ||
		t.Out(1) != reflect.TypeFor[error]() || t.IsVariadic() {
		return fmt.Errorf("%s is not a func(context.Context, A) (R, error)", t)
	}
	if fn.IsNil() {
		return errors.New("the function is nil")
	}
	return nil
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

// Document sets the docstring of a function that has no doc comment, and returns f.
func (f *Function) Document(doc string) *Function {
	f.spec.Doc = doc
	return f
}

// Def sets the function's name in Python's error texts (set_ for set), and returns f.
func (f *Function) Def(name string) *Function {
	f.spec.Def = name
	return f
}

// Out sets the outputter of the function's results (Salt's __outputter__), and returns f.
func (f *Function) Out(outputter string) *Function {
	f.spec.Out = outputter
	return f
}

// Secret marks parameters whose values only the function may see, and returns f.
func (f *Function) Secret(params ...string) *Function {
	f.spec.Secrets = params
	return f
}

// Ordered marks dictionaries in the result as ordered, and returns f.
func (f *Function) Ordered() *Function {
	f.spec.Ordered = true
	return f
}

// Strict makes a call with invalid arguments a failure, and returns f.
func (f *Function) Strict() *Function {
	f.spec.Strict = true
	return f
}

// SecretResult marks the result as containing secrets, under these names and under names that imply
// a secret, such as password. It returns f.
func (f *Function) SecretResult(names ...string) *Function {
	f.spec.SecretResult = append([]string{}, names...)
	return f
}

// Changes marks parameters whose dictionaries the function may modify, and returns f. Callers that
// use Env.Call must then pass dictionaries that they own.
func (f *Function) Changes(params ...string) *Function {
	f.spec.Changes = params
	return f
}

// Alias returns f under another name. Its documentation names the original.
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

// Steps is the result of a function that reports progress. Each element is sent to the master as it
// arrives. An error ends the iteration and fails the call.
type Steps func(yield func(any, error) bool)
