//go:build unix

package hashutil

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/brineproject/brine/loader"
)

func TestReadersRejectPipes(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, "/dev/zero"} {
		for range 2 {
			for _, fun := range []string{"hashutil.base64_encodefile", "hashutil.digest_file"} {
				if v, err := r.Invoke(t.Context(), fun, []any{path},
					nil); loader.KindOf(err) != loader.KindExecution {
					t.Errorf("%s %s = %v, %v", fun, path, v, err)
				}
			}
		}
	}
}
