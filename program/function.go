package program

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// maxDepth is how deep calls of programs may nest. Each level has a process of its own.
const maxDepth = 50

// depthKey is the key of the number of calls of programs that a context is nested in.
type depthKey struct{}

// deeper returns the context of a call of a program, or an error if it is nested too deep.
func deeper(ctx context.Context) (context.Context, error) {
	depth, _ := ctx.Value(depthKey{}).(int)
	if depth >= maxDepth {
		return nil, loader.Exception("RecursionError",
			"calls between Salt and programs nest deeper than %d", maxDepth)
	}
	return context.WithValue(ctx, depthKey{}, depth+1), nil
}

// A function is a function of a program as the rest of Brine sees it.
type function struct {
	files *Files
	path  string
	needs []string
	spec  loader.Spec
	env   *loader.Env // nil is that of files
}

var _ loader.Func = (*function)(nil)

// Spec returns the description of the function.
func (f *function) Spec() *loader.Spec { return &f.spec }

// Call calls the function in the process of the job that ctx belongs to.
func (f *function) Call(ctx context.Context, b *loader.Bound) (any, error) {
	ctx, err := deeper(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := f.files.host.call(ctx, f.path, f.answer, f.request(ctx, b))
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	if refused, ok := answer.Get("error"); ok {
		return nil, failure(refused)
	}
	if code, ok := answer.Get("retcode"); ok {
		loader.ContextOf(ctx).Set("retcode", code)
	}
	return answer.Value("return"), nil
}

// request returns the line that calls the function.
func (f *function) request(ctx context.Context, b *loader.Bound) *data.Map {
	env := f.environment()
	kwargs := data.NewMap()
	for i, p := range f.spec.Params {
		kwargs.Set(p.Name, b.Values[i])
	}
	for k, v := range b.Kwargs.All() {
		if name, ok := k.(string); ok && !strings.HasPrefix(name, "__pub_") {
			kwargs.Set(name, v)
		}
	}
	request := data.NewMap("call", f.spec.Name, "args", b.Args, "kwargs", kwargs,
		"test", f.test(ctx))
	for _, need := range f.needs {
		switch need {
		case "grains":
			request.Set(need, env.GrainsNow())
		case "pillar":
			request.Set(need, env.PillarNow())
		case "opts":
			request.Set(need, env.Opts)
		}
	}
	return request
}

func (f *function) environment() *loader.Env {
	if f.env != nil {
		return f.env
	}
	return f.files.env
}

func (f *function) test(ctx context.Context) bool {
	if f.files.Test != nil {
		return f.files.Test(ctx)
	}
	return data.Truth(f.environment().Option("test"))
}

// answer calls a function for the program.
func (f *function) answer(
	ctx context.Context, fun string, args []any, kwargs *data.Map,
) (any, error) {
	return f.environment().Functions.Invoke(ctx, fun, args, kwargs)
}

// grains calls the function for grains. It returns nil for a result that is not a dictionary.
func (f *function) grains(ctx context.Context) (*data.Map, error) {
	b, err := f.spec.Bind(nil, nil)
	if err != nil {
		return nil, err
	}
	v, err := f.Call(ctx, b)
	m, _ := v.(*data.Map)
	return m, err
}

// failure returns the error of an answer: a text, or an object with class and message.
func failure(v any) error {
	m, ok := v.(*data.Map)
	if !ok {
		return loader.Execution("%s", data.Str(v))
	}
	class, text := shortClass(m.Text("class")), data.Str(m.Value("message"))
	switch class {
	case "", "CommandExecutionError":
		return loader.Execution("%s", text)
	case "CommandNotFoundError":
		return loader.NotFound("%s", text)
	case "SaltInvocationError":
		return loader.Invocation("%s", text)
	case "TypeError":
		return loader.TypeError("%s", text)
	}
	return loader.Exception(class, "%s", text)
}
