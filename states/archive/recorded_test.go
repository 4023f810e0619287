//go:build linux

package archive_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/steps"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/states"
)

// TestAsSalt unpacks archives of all formats from the minion, from salt:// and from the web, with
// each of the arguments. The results are those of Salt 3006.0 on Debian 12.
func TestAsSalt(t *testing.T) {
	need.Root(t, "to give files to another user")
	need.Program(t, "tar", "gzip", "bzip2", "xz", "lzma", "zip", "unzip", "sha256sum", "md5sum")
	var dir string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, private := strings.CutPrefix(r.URL.Path, "/auth/")
		if user, password, _ := r.BasicAuth(); private && user+":"+password != "u:p" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.ServeFile(w, r, filepath.Join(dir, "srv", filepath.Base(path)))
	}))
	defer web.Close()
	steps.Run{Names: []string{"WEBHOST", strings.TrimPrefix(web.URL, "http://")},
		States: func(t *testing.T, at string) *loader.Registry {
			dir = at
			opts := data.NewMap("id", "web1", "file_client", "local", "local", true, "user", "root",
				"cachedir", filepath.Join(dir, "cache"), "conf_file",
				filepath.Join(dir, "minion"), "fileserver_backend", []any{"roots"}, "file_roots",
				data.NewMap("base", []any{filepath.Join(dir, "srv")}),
				"hash_type", "sha256", "file_buffer_size", int64(262144), "test", false)
			funcs, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
			if err != nil {
				t.Fatal(err)
			}
			env := *funcs.Env()
			env.Registries = map[string]*loader.Registry{}
			registry, err := loader.NewRegistry(&env, states.Plugins())
			if err != nil {
				t.Fatal(err)
			}
			env.Registries["states"] = registry
			return registry
		}}.Check(t, "testdata/salt.json")
}
