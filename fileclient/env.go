package fileclient

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/loader"
)

// Errors of ForEnv.
var (
	// ErrNoMaster is wrapped if files would have to come from a master and there is none.
	ErrNoMaster = errors.New("there is no master to get files from")
	// ErrNoLocal is wrapped if files would have to come from the minion's own file server, which
	// the program does not include.
	ErrNoLocal = errors.New("file_client: local is not supported by this program")
)

// Brought is the optional parts that a program includes for fetching files. The zero value is that
// of a small minion: salt:// from a master, and file://.
type Brought struct {
	// for other schemes, under the options of the minion; may be nil
	Fetchers func(opts *data.Map) []Fetcher
	// for schemes whose settings may also be in the pillar of the minion; may be nil
	Stores func(opts *data.Map, pillar func() *data.Map) []Fetcher
	// for file_client: local, see OwnServer; may be nil
	Local func(env *loader.Env) (Source, error)
}

// ForEnv returns the client of a plug-in. It uses the master that the minion is signed in to or,
// with file_client: local, the minion's own file server. That server caches lists of files, so a
// plug-in should keep its client.
func ForEnv(env *loader.Env, b Brought) (*Client, error) {
	o := Options{CacheDir: env.Opts.Text("cachedir"), HashType: env.Opts.Text("hash_type"),
		Log: env.Log}
	if b.Fetchers != nil {
		o.Fetchers = b.Fetchers(env.Opts)
	}
	if b.Stores != nil {
		o.Fetchers = append(o.Fetchers, b.Stores(env.Opts, env.PillarNow)...)
	}
	var err error
	if o.Source, err = source(env, b); err != nil {
		return nil, err
	}
	return New(o), nil
}

func source(env *loader.Env, b Brought) (Source, error) {
	switch {
	case env.Option("file_client") != "local" && env.Host.Masters == nil:
		return nil, ErrNoMaster
	case env.Option("file_client") != "local":
		return Remote(env.Host.Masters.Request, env.Host.Masters.RequestRaw), nil
	case b.Local == nil:
		return nil, ErrNoLocal
	}
	return b.Local(env)
}

// OwnServer returns a function for Brought.Local. It makes a file server with the backends that the
// minion's option fileserver_backend names.
func OwnServer(makers fileserver.Makers) func(env *loader.Env) (Source, error) {
	return func(env *loader.Env) (Source, error) {
		backends, err := fileserver.Build(env.Opts, makers, env.Log)
		if err != nil {
			return nil, fmt.Errorf("file_client: local: %w", err)
		}
		size, _ := env.Option("file_buffer_size").(int64)
		return Local(fileserver.New(fileserver.Options{Backends: backends,
			HashType: env.Opts.Text("hash_type"), BufferSize: int(size), Log: env.Log})), nil
	}
}
