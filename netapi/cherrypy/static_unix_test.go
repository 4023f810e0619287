//go:build unix

package cherrypy

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/netapi"
)

// TestAPipeAmongFilesIsNotOpened asks for a pipe to which nobody writes.
func TestAPipeAmongFilesIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	s, err := openStatic(&netapi.Door{Static: dir, StaticPath: "/static", AppPath: "/app"})
	if err != nil {
		t.Fatal(err)
	}
	status := func(name string) int {
		w, done := httptest.NewRecorder(), make(chan error, 1)
		go func() { done <- s.serve(w, httptest.NewRequest(http.MethodGet, "/static/"+name, nil), "/static/"+name) }()
		select {
		case err := <-done:
			if err != nil {
				return netapi.FaultOf(err).Status
			}
			return w.Code
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: no answer", name)
			return 0
		}
	}
	for name, want := range map[string]int{"file": 200, "link": 200, "pipe": 404, "": 404, "nothing": 404} {
		if got := status(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}
