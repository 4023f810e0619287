//go:build unix

package process

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"tool": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	if got := Find("tool"); got != filepath.Join(dir, "tool") {
		t.Errorf("tool is %q", got)
	}
	if got := Find("text"); got != "" {
		t.Errorf("a file that is no program is %q", got)
	}
	if got := Find("sh"); !filepath.IsAbs(got) {
		t.Errorf("sh, which is not in PATH, is %q", got)
	}
	t.Chdir(dir)
	t.Setenv("PATH", "/nowhere")
	if got := Find("tool"); got != "" {
		t.Errorf("the program in the folder of the daemon is %q", got)
	}
}
