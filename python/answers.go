package python

import (
	"context"
	"fmt"
	"sync"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// arguments are the arguments of a call that Python makes.
type arguments []any

// at returns an argument, nil for one that is not there.
func (a arguments) at(i int) any {
	if i < len(a) {
		return a[i]
	}
	return nil
}

// text returns an argument as text, "" for None.
func (a arguments) text(i int) string {
	if a.at(i) == nil {
		return ""
	}
	return data.Str(a.at(i))
}

// dictionary returns an argument that is a dictionary, nil for any other.
func (a arguments) dictionary(i int) *data.Map {
	m, _ := a.at(i).(*data.Map)
	return m
}

// bytes returns an argument that is bytes or text.
func (a arguments) bytes(i int) []byte {
	if b, ok := a.at(i).([]byte); ok {
		return b
	}
	return []byte(a.text(i))
}

// An operation performs a call that Python makes.
type operation func(f *Files, ctx context.Context, args arguments) (any, error)

// A served operation needs a number of arguments.
type served struct {
	do    operation
	needs int
}

var (
	listing    sync.Once
	operations map[string]served
)

// operationOf returns the operation of a name and the number of arguments that it needs, nil for an
// unknown name. The names are those of brinehost/worker.py and salt/_brine.py.
func operationOf(name string) (do operation, needs int) {
	listing.Do(func() { operations = listOperations() })
	one := operations[name]
	return one.do, one.needs
}

// listOperations returns the operations by name. They refer to operationOf, so that a variable cannot
// hold them from the start.
func listOperations() map[string]served {
	return map[string]served{
		"opts":     {(*Files).optsNow, 0},
		"grains":   {(*Files).grainsNow, 0},
		"pillar":   {(*Files).pillarNow, 0},
		"grain":    {(*Files).setGrain, 2},
		"running":  {(*Files).running, 0},
		"lowstate": {(*Files).lowstate, 0},
		"progress": {(*Files).progress, 2},

		"names":  {(*Files).names, 1},
		"find":   {(*Files).find, 2},
		"module": {(*Files).module, 2},
		"doc":    {(*Files).doc, 2},
		"invoke": {(*Files).invoke, 4},

		"order":         {(*Files).order, 1},
		"publish":       {(*Files).publish, 1},
		"returns":       {(*Files).returns, 1},
		"control":       {(*Files).control, 4},
		"control_async": {(*Files).controlAsync, 4},

		"fire":      {(*Files).fire, 3},
		"subscribe": {(*Files).subscribe, 2},
		"await":     {(*Files).await, 4},

		"compile_pillar":   {(*Files).compilePillar, 5},
		"compile_template": {(*Files).compileTemplate, 6},
		"renderer":         {(*Files).hasRenderer, 1},
		"render":           {(*Files).render, 6},
		"configuration":    {(*Files).configuration, 2},
		"match":            {(*Files).match, 4},
		"builtin_grains":   {(*Files).builtinGrains, 0},

		"data_get":   {(*Files).cacheGet, 3},
		"data_set":   {(*Files).cacheSet, 4},
		"data_list":  {(*Files).cacheList, 2},
		"data_flush": {(*Files).cacheFlush, 3},
		"data_time":  {(*Files).cacheTime, 3},

		"sign":          {(*Files).sign, 3},
		"verify":        {(*Files).verify, 3},
		"generate_keys": {(*Files).generateKeys, 5},
	}
}

// answers performs the calls of Python.
func (f *Files) answers(ctx context.Context, name string, args []any) (any, error) {
	do, needs := operationOf(name)
	switch {
	case do == nil:
		return nil, fmt.Errorf("unknown call %s of the Python process", name)
	case len(args) < needs:
		return nil, fmt.Errorf("call %s of the Python process has %d arguments, not %d", name,
			len(args), needs)
	}
	return do(f, ctx, args)
}

// An unableError says that the program cannot perform an operation.
type unableError struct{ what string }

func (e *unableError) Error() string { return "this program cannot " + e.what }

func (f *Files) optsNow(context.Context, arguments) (any, error) { return f.opts(), nil }

func (f *Files) grainsNow(context.Context, arguments) (any, error) {
	return f.env.GrainsNow(), nil
}

func (f *Files) pillarNow(context.Context, arguments) (any, error) {
	return f.env.PillarNow(), nil
}

func (f *Files) setGrain(_ context.Context, args arguments) (any, error) {
	f.env.GrainsNow().Set(args[0], args[1])
	return nil, nil
}

func (f *Files) running(ctx context.Context, _ arguments) (any, error) {
	return f.live(ctx, "running"), nil
}

func (f *Files) lowstate(ctx context.Context, _ arguments) (any, error) {
	return f.live(ctx, "lowstate"), nil
}

func (f *Files) live(ctx context.Context, name string) any {
	if f.Live == nil {
		return data.NewMap()
	}
	return f.Live(ctx, name)
}

func (f *Files) progress(ctx context.Context, args arguments) (any, error) {
	if f.Progress == nil {
		return nil, &unableError{"report the progress of a call"}
	}
	return nil, f.Progress(ctx, args.text(0), args.dictionary(1))
}

func (f *Files) names(ctx context.Context, args arguments) (any, error) {
	shelf, err := f.shelf(ctx, args.text(0))
	return data.Values(shelf.Select("*")), err
}

// find returns the plug-in's file, true for a function of Brine's, and nil if no function has that
// name.
func (f *Files) find(ctx context.Context, args arguments) (any, error) {
	shelf, err := f.shelf(ctx, args.text(0))
	found, ok := shelf.Func(args.text(1))
	if err != nil || !ok {
		return nil, err
	}
	if own, ok := found.(*function); ok && own.files.host == f.host && own.operation == "" {
		return own.file, nil
	}
	return true, nil
}

func (f *Files) module(ctx context.Context, args arguments) (any, error) {
	shelf, err := f.shelf(ctx, args.text(0))
	return len(shelf.Select(args.text(1)+".*")) > 0, err
}

func (f *Files) doc(ctx context.Context, args arguments) (any, error) {
	shelf, err := f.shelf(ctx, args.text(0))
	if fn, ok := shelf.Func(args.text(1)); ok {
		return fn.Spec().Docstring(), nil
	}
	return nil, err
}

func (f *Files) invoke(ctx context.Context, args arguments) (any, error) {
	shelf, err := f.shelf(ctx, args.text(0))
	if err != nil {
		return nil, err
	}
	return shelf.Invoke(ctx, args.text(1), listOf(args[2]), args.dictionary(3))
}

// shelf returns the functions of a kind.
func (f *Files) shelf(ctx context.Context, kind string) (*loader.Registry, error) {
	if ctx.Value(loadingKey{}) != nil {
		switch kind {
		case f.kind:
			return f.builtin()
		case "modules": // whose files ask for no other kind while they are loaded
			return f.modules(), nil
		}
		return nil, nil
	}
	if kind == "modules" {
		return f.modules(), nil
	}
	return f.env.Registry(kind), nil
}

// modules returns the execution modules: on a master those of its list, on a minion its functions.
func (f *Files) modules() *loader.Registry {
	if r := f.env.Registry("modules"); r != nil {
		return r
	}
	return f.env.Functions
}

// opts returns __opts__.
func (f *Files) opts() *data.Map {
	opts := data.NewMap()
	for k, v := range f.env.Opts.All() {
		opts.Set(k, v)
	}
	if !opts.Has("test") {
		opts.Set("test", false)
	}
	if !opts.Has("__role") {
		opts.Set("__role", "minion")
	}
	opts.Set("grains", f.env.GrainsNow())
	opts.Set("pillar", f.env.PillarNow())
	return opts
}
