package hashutil

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/brineproject/brine/loader"
)

// A replaced file keeps its mode, and a link to it remains a link.
func TestDecodefileKeepsModeAndLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes")
	}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path, link := filepath.Join(dir, "f"), filepath.Join(dir, "l")
	if err := os.WriteFile(path, []byte("old and longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f", link); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if v, err := r.Invoke(t.Context(), "hashutil.base64_decodefile",
			[]any{"Z2V0IHNhbHRlZA==", link}, nil); err != nil || v != true {
			t.Fatal(v, err)
		}
		body, err := os.ReadFile(path)
		if err != nil || string(body) != "get salted" {
			t.Errorf("content is %q, %v", body, err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o751 {
			t.Errorf("mode is %v, %v", info.Mode(), err)
		}
		if to, err := os.Readlink(link); err != nil || to != "f" {
			t.Errorf("the link is %q, %v", to, err)
		}
	}
}
