package packages

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/loader"
)

// tag returns the file whose presence says that the next state that installs refreshes the lists first.
func tag(env *loader.Env) string {
	return filepath.Join("/", env.Root, env.Opts.Text("cachedir"), "pkg_refresh")
}

// AskRefresh has the next state that installs refresh the lists of the package manager. What goes wrong is logged.
func AskRefresh(env *loader.Env) {
	f, err := os.OpenFile(tag(env), os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		env.Log.Warnf("Encountered error writing rtag: %v", err)
	}
}

// Refreshed notes that the lists of the package manager are fresh, so that no state refreshes them again. What goes wrong is logged.
func Refreshed(env *loader.Env) {
	if err := os.Remove(tag(env)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		env.Log.Warnf("Encountered error removing rtag: %v", err)
	}
}

// NeedsRefresh tells whether a state refreshes the lists: where its argument says so, or, unless that is False, where AskRefresh
// has and nothing has refreshed them since.
func NeedsRefresh(env *loader.Env, refresh any) bool {
	if True(refresh) {
		return true
	}
	info, err := os.Stat(tag(env))
	return err == nil && info.Mode().IsRegular() && refresh != false
}
