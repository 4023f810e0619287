package packages

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/loader"
)

// tag returns the file that requests a refresh of the lists before the next installing state.
func tag(env *loader.Env) string {
	return filepath.Join("/", env.Root, env.Opts.Text("cachedir"), "pkg_refresh")
}

// AskRefresh makes the next installing state refresh the package manager's lists. Errors are
// logged.
func AskRefresh(env *loader.Env) {
	f, err := os.OpenFile(tag(env), os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		env.Log.Warnf("Encountered error writing rtag: %v", err)
	}
}

// Refreshed records that the package manager's lists are fresh, so that no state refreshes them
// again. Errors are logged.
func Refreshed(env *loader.Env) {
	if err := os.Remove(tag(env)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		env.Log.Warnf("Encountered error removing rtag: %v", err)
	}
}

// NeedsRefresh reports whether a state must refresh the lists: if its argument requests it, or,
// unless that is False, if AskRefresh was called and nothing has refreshed them since.
func NeedsRefresh(env *loader.Env, refresh any) bool {
	if True(refresh) {
		return true
	}
	info, err := os.Stat(tag(env))
	return err == nil && info.Mode().IsRegular() && refresh != false
}
