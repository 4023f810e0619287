package docker_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testdocker"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/docker"
)

// silent returns a minion whose engine begins to answer requests to paths of an expression, and then says
// no more.
func silent(t *testing.T, paths string) *testdocker.Minion {
	t.Helper()
	e := testdocker.New()
	e.Root = t.TempDir()
	busy := regexp.MustCompile(paths)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !busy.MatchString(r.Method + " " + r.URL.Path) {
			e.ServeHTTP(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write([]byte(`{"status": "begun"}` + "\n"))
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the client has given up, or the test has ended
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	m := testdocker.NewMinionOf(t, s.URL, []loader.Plugin{config.Plugin(),
		docker.PluginWithin(time.Second, time.Second)}, nil)
	m.Engine = e
	return m
}

// TestSilentEngine checks that each request that may take long ends if the engine says nothing.
func TestSilentEngine(t *testing.T) {
	need.Time(t, "the engine is silent for a second")
	m := silent(t, `/(build|commit|images/create|images/load|push|get|export|prune)$|PUT .*/archive$`)
	m.SetOptions(data.NewMap("docker.timeout", 0.5))
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write(t, file, "x")
	write(t, filepath.Join(dir, "Dockerfile"), "FROM busybox\n")
	ok(t, m, "docker.create", []any{"busybox"}, "name", "c", "cmd", "sleep 60", "start", true)
	var calls sync.WaitGroup
	for _, call := range []struct {
		fun    string
		args   []any
		kwargs []any
	}{
		{"docker.pull", []any{"alpine"}, nil},
		{"docker.push", []any{"busybox"}, nil},
		{"docker.build", []any{dir}, nil},
		{"docker.load", []any{file}, nil},
		{"docker.import", []any{file, "me/x"}, nil},
		{"docker.save", []any{"busybox", filepath.Join(dir, "saved")}, nil},
		{"docker.export", []any{"c", filepath.Join(dir, "exported")}, nil},
		{"docker.commit", []any{"c", "me/y"}, nil},
		{"docker.prune", nil, []any{"images", true}},
		{"docker.copy_to", []any{"c", file, filepath.Join(m.Engine.Root, "copy")}, nil},
	} {
		calls.Go(func() {
			v, err := m.Call(t, call.fun, call.args, data.NewMap(call.kwargs...))
			if err == nil || !strings.Contains(err.Error(), "the engine sends nothing for 1s") {
				t.Errorf("%s: %s, %v", call.fun, data.Repr(v), err)
			}
		})
	}
	calls.Wait()
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("files are left: %q", left)
	}
}

// TestClientTimeout checks that client_timeout limits the silence during a pull and a push, also a pull for
// a new container.
func TestClientTimeout(t *testing.T) {
	m := silent(t, `/(images/create|push)$`)
	for _, fun := range []string{"docker.pull", "docker.push", "docker.create", "docker.run_container"} {
		fails(t, m, "the engine sends nothing for 50ms", fun, []any{"alpine"}, "client_timeout", 0.05)
		for _, wrong := range []any{"x", int64(0), -1.5} {
			fails(t, m, "client_timeout must be a number of seconds, not "+data.Repr(wrong), fun, []any{"alpine"},
				"client_timeout", wrong)
		}
	}
}
