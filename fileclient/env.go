package fileclient

import (
	"errors"

	"github.com/brineproject/brine/loader"
)

// ErrNoMaster is wrapped by ForEnv where there is neither a master nor a file server of the minion's own.
var ErrNoMaster = errors.New("there is no file server")

// ForEnv returns the client of a plug-in: of the master that the minion is signed in to, or with file_client: local of the minion's
// own file_roots. fetchers may be none; then there are salt:// and file:// alone.
func ForEnv(env *loader.Env, fetchers ...Fetcher) (*Client, error) {
	o := Options{CacheDir: env.Opts.Text("cachedir"), HashType: env.Opts.Text("hash_type"), Fetchers: fetchers, Log: env.Log}
	if env.Host.Request == nil {
		return nil, ErrNoMaster
	}
	o.Source = Remote(env.Host.Request)
	return New(o), nil
}
