//go:build unix && !small

package standard

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipes puts named pipes without a writer in the places of files: opening one would wait without end.
func TestPipes(t *testing.T) {
	h := newHost(t)
	for _, name := range []string{"f", "var/log/wtmp"} {
		path := filepath.Join(h.root, name)
		h.append(name, "")
		c := h.caller(map[string]string{"f": "log", "var/log/wtmp": "wtmp"}[name], "[{file: f}]")
		c.expect("[]") // the beacon wtmp is there only with its file
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		c.expect("read " + path + ": it is no regular file")
	}
	h.caller("cert_info", "[{files: [f]}]").expect("[]") // it is in the log
}
