package fileclient

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/loader"
)

// ErrNoMaster is wrapped by ForEnv where files would have to come from a master and there is none.
var ErrNoMaster = errors.New("there is no master to get files from")

// Brought is what a program brings along to get files with. The zero value is what a small one has: salt:// and file://, and with
// file_client: local the folders of file_roots.
type Brought struct {
	Fetchers []Fetcher         // of other schemes
	Backends fileserver.Makers // for file_client: local, beside roots
}

// ForEnv returns the client of a plug-in: of the master that the minion is signed in to, or with file_client: local of a file server
// of the minion's own. That one keeps lists of files, so a plug-in holds on to its client.
func ForEnv(env *loader.Env, b Brought) (*Client, error) {
	o := Options{CacheDir: env.Opts.Text("cachedir"), HashType: env.Opts.Text("hash_type"), Fetchers: b.Fetchers, Log: env.Log}
	switch {
	case env.Option("file_client") == "local":
		server, err := ownServer(env, b.Backends)
		if err != nil {
			return nil, err
		}
		o.Source = Local(server)
	case env.Host.Request == nil:
		return nil, ErrNoMaster
	default:
		o.Source = Remote(env.Host.Request)
	}
	return New(o), nil
}

// ownServer serves what the minion's options name.
func ownServer(env *loader.Env, more fileserver.Makers) (*fileserver.Server, error) {
	makers := fileserver.Makers{"roots": roots.Make}
	for name, make := range more {
		makers[name] = make
	}
	backends, err := fileserver.Build(env.Opts, makers, env.Log)
	if err != nil {
		return nil, fmt.Errorf("file_client: local: %w", err)
	}
	size, _ := env.Option("file_buffer_size").(int64)
	return fileserver.New(fileserver.Options{Backends: backends, HashType: env.Opts.Text("hash_type"), BufferSize: int(size), Log: env.Log}), nil
}
