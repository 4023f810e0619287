package docker_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdocker"
)

// TestNothingIsLeft replaces a container while the engine refuses one step of it. The new container must be
// gone then.
func TestNothingIsLeft(t *testing.T) {
	const refusal = "Error 500: refused"
	for _, tt := range []struct {
		name, refused string
		force         bool
		want, left    string
	}{
		{"the old one cannot be removed", `DELETE .*/containers/web$`, false,
			"Failed to replace container 'web': " + refusal, "['web']"},
		{"the old one cannot be removed by force", `DELETE .*/containers/web$`, true,
			"Failed to replace container 'web': " + refusal, "['web']"},
		{"the new one cannot be named", `POST .*/rename$`, false,
			"Failed to rename temp container: " + refusal, "[]"},
		{"the new one cannot be named by force", `POST .*/rename$`, true,
			"Failed to rename temp container: " + refusal, "[]"},
		{"the new one cannot be inspected", `GET .*/containers/[0-9a-f]{64}/json$`, true, refusal, "['web']"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := testdocker.New()
			refused, refuse := regexp.MustCompile(tt.refused), atomic.Bool{}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if refuse.Load() && refused.MatchString(r.Method+" "+r.URL.Path) {
					w.WriteHeader(http.StatusInternalServerError)
					_, _ = w.Write([]byte(`{"message": "refused"}`))
					return
				}
				e.ServeHTTP(w, r)
			}))
			t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
			m := testdocker.NewMinionOf(t, s.URL, functions(), states())
			first := state(t, m, false, "docker_container.running", "web", "image", "busybox", "command", "sleep 60")
			if !strings.HasPrefix(first, "True ") {
				t.Fatal(first)
			}
			refuse.Store(true)
			kwargs := []any{"image", "busybox", "command", "sleep 90", "force", tt.force}
			got := state(t, m, false, "docker_container.running", "web", kwargs...)
			if !strings.HasPrefix(got, "False ") || !strings.Contains(got, tt.want) {
				t.Errorf("the state returns %s", got)
			}
			left, err := m.Call(t, "docker.list_containers", nil, data.NewMap("all", true))
			if err != nil || data.Repr(left) != tt.left {
				t.Errorf("there are %s, %v, want %s", data.Repr(left), err, tt.left)
			}
			refuse.Store(false)
			kwargs[5] = false
			for i, want := range []string{"True {'", "True {} "} {
				got := state(t, m, false, "docker_container.running", "web", kwargs...)
				if !strings.HasPrefix(got, want) {
					t.Errorf("run %d after that: %s", i, got)
				}
			}
		})
	}
}
