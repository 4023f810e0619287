package thorium

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/state"
)

// env returns the environment in which the SLS are compiled and run: that of the execution functions of
// the master, with the files of thorium_roots.
func (t *thorium) env() *loader.Env {
	env := *t.host.Functions.Env()
	opts := config.DefaultMinion().Map()
	opts.Update(env.Opts)
	opts.Update(data.NewMap("file_client", "local", "fileserver_backend", []any{"roots"}, "__role", "master",
		"file_roots", env.Opts.Value("thorium_roots"), "saltenv", env.Opts.Value("thoriumenv"),
		"state_top", env.Opts.Value("thorium_top"), "default_top", "base",
		// apart from the copies of files of the same names that orchestrations fetch
		"cachedir", directory(env.Opts)))
	env.Opts, env.Functions, env.Call, env.Pillar = state.MasterOptions(opts, opts), nil, nil, nil
	return t.host.Functions.With(&env).Env()
}

// directory returns the directory of thorium's files.
func directory(opts *data.Map) string { return filepath.Join(opts.Text("cachedir"), "thorium") }

// compile returns the chunks that the top file assigns to the master.
func compile(ctx context.Context, env *loader.Env, brought render.Brought) ([]state.Chunk, error) {
	brought.Files.Local = fileclient.OwnServer(fileserver.Makers{roots.Name: roots.Make})
	engine, files, err := render.ForEnv(env, brought)
	if err != nil {
		return nil, err
	}
	compiler, err := state.New(state.Options{Engine: engine, Files: files})
	if err != nil {
		return nil, err
	}
	chunks, problems, err := compiler.LowState(loader.WithContext(ctx, &loader.Context{}))
	switch {
	case err != nil:
		return nil, fmt.Errorf("compile thorium: %w", err)
	case len(problems) > 0:
		return nil, errors.New("compile thorium: " + strings.Join(problems, "; "))
	case len(chunks) == 0:
		return nil, errors.New("No Top file found!") //nolint:staticcheck // Salt's text
	}
	return chunks, nil
}
