package loader

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/brineproject/brine/data"
)

// A Result is the outcome of a function call: the fields of a return that depend on the function.
// If Err is not nil, Value is the text shown to operators.
type Result struct {
	Value   any
	Retcode int
	Success bool
	Out     string // outputter, or ""
	Ordered bool   // dictionaries in Value are ordered, see Spec
	Err     error  // cause of a failure; Value already contains its text
}

// Kind returns the kind of the error.
func (r Result) Kind() Kind { return KindOf(r.Err) }

// CallOptions are optional settings of a call. The zero value is valid.
type CallOptions struct {
	Pub *data.Map // fields of the publication, for functions with **kwargs
	// called with each element of Steps as it arrives, numbered from 0
	Progress func(n int, value any)
	// called with the arguments in place of the function; nil calls the function
	Through func(ctx context.Context, args []any, kwargs *data.Map) (any, error)
}

// Call runs a function with the arguments of a publication (see Spec.Split), like _thread_return of
// salt/minion.py.
//
// Nested calls share the Context of ctx, or a new one, and its retcode is reset to 0. A result that
// is a map with a false value under result or success counts as failed. A panic becomes the text of
// an exception.
func (r *Registry) Call(ctx context.Context, fun string, arg []any, o CallOptions) Result {
	f, ok := r.Func(fun)
	if !ok {
		return r.missing(fun)
	}
	c := ContextOf(ctx)
	c.SetRetcode(0)
	if o.Pub != nil {
		ctx = WithJob(ctx, o.Pub)
	}
	value, err := call(WithContext(ctx, c), f, arg, o)
	if err != nil {
		return failed(fun, f.Spec().Docstring(), err)
	}
	res := succeeded(c, value)
	res.Out, res.Ordered = f.Spec().Out, f.Spec().Ordered
	return res
}

// Outcome returns the result of a job that called no function of a registry, such as one that an
// executor performs by itself. fun names it in the texts of errors.
func Outcome(ctx context.Context, fun string, value any, err error) Result {
	if err != nil {
		return failed(fun, "", err)
	}
	return succeeded(ContextOf(ctx), value)
}

// succeeded returns the result of a call without an error.
func succeeded(c *Context, value any) Result {
	code := retcode(c, value)
	return Result{Value: value, Retcode: code, Success: code == 0}
}

// call splits the arguments and invokes f.
func call(ctx context.Context, f Func, arg []any, o CallOptions) (any, error) {
	args, kwargs, err := f.Spec().Split(arg, o.Pub)
	if err != nil {
		return nil, err
	}
	if o.Through != nil {
		return o.Through(ctx, args, kwargs)
	}
	return invoke(ctx, f, args, kwargs, o.Progress)
}

// Invoke runs a function with arguments that are already parsed, like __salt__[fun](*args,
// **kwargs).
func (r *Registry) Invoke(
	ctx context.Context, fun string, args []any, kwargs *data.Map,
) (any, error) {
	f, ok := r.Func(fun)
	if !ok {
		return nil, &Error{Kind: KindMissing, Class: "KeyError", Text: data.Repr(fun),
			Err: errors.New(r.MissingText(fun))}
	}
	return invoke(ctx, f, args, kwargs, nil)
}

func invoke(
	ctx context.Context, f Func, args []any, kwargs *data.Map, progress func(int, any),
) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, panicked(p)
		}
	}()
	if own, ok := f.(Binder); ok {
		return own.CallWith(ctx, args, kwargs)
	}
	b, err := f.Spec().Bind(args, kwargs)
	if err != nil {
		return nil, err
	}
	v, err = f.Call(ctx, b)
	if steps, ok := v.(Steps); ok && err == nil {
		return collect(steps, progress)
	}
	return v, err
}

// collect joins the elements of steps: maps are merged into one map, anything else becomes a list.
func collect(steps Steps, progress func(int, any)) (any, error) {
	var (
		n    int
		m    = &data.Map{}
		list []any
		fail error
	)
	steps(func(v any, err error) bool {
		if err != nil {
			fail = err
			return false
		}
		if part, ok := v.(*data.Map); ok && list == nil {
			m.Update(part)
		} else if list == nil && m.Len() > 0 {
			fail = Exception("AttributeError", "'dict' object has no attribute 'append'")
			return false
		} else {
			list = append(list, v)
		}
		if progress != nil {
			progress(n, v)
		}
		n++
		return true
	})
	switch {
	case fail != nil:
		return nil, fail
	case list != nil:
		return list, nil
	}
	return m, nil
}

// retcode returns the code that functions left in the context, or 1 if the result is a map that
// reports failure.
func retcode(c *Context, value any) int {
	code, _ := c.Get("retcode")
	n, err := Int(code)
	switch {
	case err != nil:
		return 1
	case n != 0:
		return int(n)
	case reportsFailure(value):
		return 1
	}
	return 0
}

func reportsFailure(value any) bool {
	m, ok := value.(*data.Map)
	if !ok {
		return false
	}
	for _, key := range []string{"result", "success"} {
		if v, ok := m.Get(key); ok && !data.Truth(v) {
			return true
		}
	}
	return false
}

// failed returns the result of a call that failed with err.
func failed(fun, doc string, err error) Result {
	res := Result{Retcode: 1, Out: "nested", Err: err}
	switch KindOf(err) {
	case KindNotFound:
		res.Value = fmt.Sprintf("Command required for '%s' not found: %v", fun, err)
	case KindExecution:
		res.Value = fmt.Sprintf("ERROR: %v", err)
	case KindInvocation:
		res.Value = fmt.Sprintf("ERROR executing '%s': %v", fun, err)
	case KindType:
		res.Value = fmt.Sprintf("Passed invalid arguments to %s: %v\n%s", fun, err, doc)
	default:
		res.Value = "The minion function caused an exception: " + Traceback(err)
	}
	return res
}

// missing returns the result for an unavailable function: the reason or, if fun is the prefix of
// other functions, their docs.
func (r *Registry) missing(fun string) Result {
	text := r.MissingText(fun)
	err := &Error{Kind: KindMissing, Class: "KeyError", Text: text}
	res := Result{Retcode: 1, Out: "nested", Err: err}
	if docs := r.Docs(fun + "*"); docs.Len() > 0 {
		docs.Set(fun, text)
		res.Value = docs
		return res
	}
	if broken := r.failure(fun); broken != "" {
		text += fmt.Sprintf(" Possible reasons: '%s'", broken)
	}
	res.Value = text
	return res
}

// Traceback formats err like Python's traceback.format_exc. Only a panic has frames.
func Traceback(err error) string {
	class, text, frames := "Exception", err.Error(), ""
	if e, ok := errors.AsType[*Error](err); ok {
		class, frames = e.Class, e.frames
	}
	if text != "" {
		text = ": " + text
	}
	return "Traceback (most recent call last):\n" + frames + class + text + "\n"
}

func panicked(p any) error {
	return &Error{Kind: KindException, Class: "RuntimeError", Text: fmt.Sprint(p),
		frames: frames(5)}
}

// Stack returns the call stack from the registry's call down to the caller, in the form of Python's
// traceback.format_stack.
func Stack() string { return frames(3) }

// frames returns the stack without its skip innermost levels, innermost call last.
func frames(skip int) string {
	pcs := make([]uintptr, 32)
	stack := runtime.CallersFrames(pcs[:runtime.Callers(skip, pcs)])
	var lines []string
	for {
		f, more := stack.Next()
		lines = append(lines, fmt.Sprintf("  File %q, line %d, in %s\n", f.File,
			f.Line, f.Function))
		if !more || strings.HasSuffix(f.Function, "loader.invoke") {
			break
		}
	}
	var b strings.Builder
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i])
	}
	return b.String()
}
