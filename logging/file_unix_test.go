//go:build unix

package logging

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

// TestRootIsNotLedElsewhere has a link of another user where root opens the log file.
func TestRootIsNotLedElsewhere(t *testing.T) {
	need.Root(t, "to change owners")
	for name, lead := range map[string]func(target, path string) error{
		"link": os.Symlink,
		"second name": func(target, path string) error {
			return errors.Join(os.WriteFile(target, nil, 0o600), os.Link(target, path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			target, folder := filepath.Join(dir, "target"), filepath.Join(dir, "folder")
			path := filepath.Join(folder, "log")
			if err := errors.Join(os.Mkdir(folder, 0o755), lead(target, path),
				os.Lchown(path, 12345, 12345), os.Chown(folder, 12345, 12345)); err != nil {
				t.Fatal(err)
			}
			_, err := New(Settings{File: path, FileFormat: "%(message)s"}, Options{Console: io.Discard})
			if err == nil || !strings.HasPrefix(err.Error(), "log_file: "+path+": ") {
				t.Errorf("err = %v", err)
			}
			if _, err := os.Stat(target); name == "link" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the target is made: %v", err)
			}
		})
	}
}
