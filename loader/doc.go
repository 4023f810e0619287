// Package loader loads and calls the functions that Brine offers by name: execution modules and the
// other kinds of plug-ins.
//
// A plug-in is a [Plugin]: its names and a factory. The factory receives an [Env] with everything
// the engine provides: options, grains, pillar, other functions by name, the command runner, the
// root directory and the log. It returns a [Module], or an error, which corresponds to a false
// result of Salt's __virtual__. A [Registry] builds modules on first use and calls their functions
// with the arguments of a publication:
//
//	// Package uptime is Salt's module of that name.
//	package uptime
//
//	// Plugin returns the module uptime.
//	func Plugin() loader.Plugin { return loader.Plugin{Name: "uptime", New: newModule} }
//
//	type module struct{ env *loader.Env }
//
//	func newModule(env *loader.Env) (*loader.Module, error) {
//		if runtime.GOOS == "windows" {
//			return nil, errors.New("only on Unix") // '…' __virtual__ returned False: only on Unix
//		}
//		m := &module{env}
//		return &loader.Module{Funcs: []loader.Func{
//			loader.F("since", m.since),
//			loader.F("set", m.set).Def("set_"), // named set_ in Python's error texts
//		}}, nil
//	}
//
//	type sinceArgs struct {
//		Unit    string    `default:"'s'"`             // parameter unit='s'
//		DryRun  bool      `name:"dry" default:"False"` // without name: the field's name as dry_run
//		More    []any     `args:"args"`               // *args
//		Options *data.Map `kwargs:"kwargs"`           // **kwargs, with the __pub_ fields; or only:"a,b", keyword-only a and b
//	}
//
//	// since returns how long the system has been up.
//	//
//	// CLI Example:
//	//
//	//	salt '*' uptime.since
//	func (m *module) since(ctx context.Context, a sinceArgs) (any, error) {
//		out, err := calls.RunOutput(ctx, m.env, calls.Run{Argv: []string{"uptime", "--since"}})
//		if err != nil {
//			return nil, err
//		}
//		loader.ContextOf(ctx).SetRetcode(3)
//		return out, nil
//	}
//
// The fields of the argument struct are the parameters in order. The fields of an embedded struct
// are inserted at its position, so functions can share them. A field without a default is required,
// and must not follow a field with a default. A default is a Python literal: None, True, 3, 0.5,
// 'text', ['a'], {'k': 1}. argspec shows it as written. Fields accept values by type:
//
//	any        the value as it is: for all that is accepted loosely
//	string     text; other values as Python's str() prints them; None gives ""
//	int, int64 whole numbers, truth values, floats cut off, texts as int() reads them; None gives 0
//	float64    numbers and texts as float() reads them; None gives 0
//	bool       Python's truth of any value
//	[]any      a list or tuple; None gives nil, anything else a list of itself alone
//	[]string   a list, each element as str(); a text is split at its commas
//	*data.Map  a dictionary; None gives nil
//	*T         of the scalars above: nil for None
//
// Results are values of package data, as any or as a concrete type, or types with a method Plain
// that returns such a value. A function that reports progress returns [Steps]. Functions call each
// other with [Env].Call, or with [CallAs] to get a result of one type.
//
// Plug-ins whose names are known only at run time, such as those found in files, come from a
// [Source]. A Registry asks it by name after its own list. A Source itself must leave out plug-ins
// that the options forbid (see [Allowed]).
//
// sys.doc shows the doc comment of the Go function, without the first word if that is the
// function's name. The command go generate ./modules collects these comments in text files beside
// the lists of plug-ins, which embed them; see [Docs].
//
// The error that a function returns decides the text that the operator sees. [Execution] and every
// plain error print "ERROR: …", and [Invocation] prints "ERROR executing 'x.y': …". [NotFound]
// means that a command is missing, [TypeError] that arguments do not fit, and [Exception] is any
// other Python exception. See Salt's salt/metaproxy/proxy.py and salt/minion.py (_thread_return,
// load_args_and_kwargs), and salt/utils/args.py for the parsing of command lines ([ParseInput]).
//
// Errors about wrong arguments use the texts of Python's interpreter, since operators search for
// them.
package loader
