package python

import (
	"context"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Services perform operations of the library that functions of plug-ins and [loader.Host] do not.
// Calls to a nil service return an error.
type Services struct {
	// Match returns the minions of a master that a target matches. greedy counts minions without
	// cached data as matched.
	Match func(ctx context.Context, tgt any, kind, delimiter string, greedy bool) ([]string, error)
	// Pillar compiles the pillar of a minion with these grains, on a master.
	Pillar func(ctx context.Context, id string, grains *data.Map, q loader.PillarQuery) (*data.Map, error)
	// Grains collects the grains of this host without those of plug-ins.
	Grains func(ctx context.Context) (*data.Map, error)
	// Show prints the job of a runner or wheel function that another has called.
	Show func(done *data.Map)
}

// compilePillar returns a fresh pillar of this minion or, on a master, of another one.
func (f *Files) compilePillar(ctx context.Context, args arguments) (any, error) {
	q := loader.PillarQuery{SaltEnv: args.text(1), PillarEnv: args.text(2), Override: args.dictionary(3)}
	id, compile := args.text(0), f.host.o.Services.Pillar
	switch {
	case compile != nil:
		if id == "" {
			id = f.env.Opts.Text("id")
		}
		return compile(ctx, id, args.dictionary(4), q)
	case id != "":
		return nil, &unableError{"compile the pillar of minion " + id + ": only a master can"}
	case f.env.Host.CompilePillar == nil:
		return nil, &unableError{"compile a pillar"}
	}
	return f.env.Host.CompilePillar(ctx, q)
}

// compileTemplate renders a text, or the file PATH if there is none, with the renderers of its first
// line or of a pipe.
func (f *Files) compileTemplate(ctx context.Context, args arguments) (any, error) {
	kwargs := data.NewMap("default_renderer", args[0], "saltenv", args[3], "sls", args[4],
		"context", args.dictionary(5).Clone())
	if args[1] == nil {
		kwargs.Set("path", args[2])
	} else {
		kwargs.Set("string", args[1])
	}
	return f.modules().Invoke(ctx, "slsutil.renderer", nil, kwargs)
}

// configuration returns the options of the configuration file of a daemon, nil if the file is not
// named after the daemon. The library reads it by itself then.
func (f *Files) configuration(_ context.Context, args arguments) (any, error) {
	dir, name := filepath.Split(args.text(1))
	switch role := args.text(0); {
	case role == "minion" && name == "minion":
		cfg, _, err := config.LoadMinion(dir, os.Getenv)
		if err != nil {
			return nil, err
		}
		return cfg.Map(), nil
	case role == "master" && name == "master":
		cfg, _, err := config.LoadMaster(dir, os.Getenv)
		if err != nil {
			return nil, err
		}
		return cfg.Map(), nil
	case role == "client" && name == "master":
		cfg, _, err := config.LoadClient(dir, os.Getenv)
		if err != nil {
			return nil, err
		}
		return cfg.Map(), nil
	}
	return nil, nil
}

// match returns the minions that a target matches.
func (f *Files) match(ctx context.Context, args arguments) (any, error) {
	match := f.host.o.Services.Match
	if match == nil {
		return nil, &unableError{"match minions: only a master can"}
	}
	ids, err := match(ctx, args[0], args.text(1), args.text(2), data.Truth(args[3]))
	return data.Values(ids), err
}

// builtinGrains returns the grains of this host without those of plug-ins.
func (f *Files) builtinGrains(ctx context.Context, _ arguments) (any, error) {
	collect := f.host.o.Services.Grains
	if collect == nil {
		return nil, &unableError{"collect grains"}
	}
	return collect(ctx)
}
