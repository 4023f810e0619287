package logging

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// A console is what a test reads a log's console from.
type console struct {
	mu   sync.Mutex
	text bytes.Buffer
	err  error // of writing

	wrote chan struct{} // gets something for the first writes
}

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0, c.err
	}
	select {
	case c.wrote <- struct{}{}:
	default:
	}
	return c.text.Write(b)
}

// take returns what was written since it was called last.
func (c *console) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.text.String()
	c.text.Reset()
	return s
}

func (c *console) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// newLog opens a log for a test, with a console.
func newLog(t testing.TB, s Settings) (*Log, *console) {
	t.Helper()
	c := &console{wrote: make(chan struct{}, 1)}
	log, err := New(s, Options{Console: c, Program: "salt.master", PID: 1234})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log, c
}

func logPath(t testing.TB) string { return filepath.Join(t.TempDir(), "salt", "master") }

func readText(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func wantText(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%q, want\n%q", what, got, want)
	}
}
