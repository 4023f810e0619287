//go:build unix

package sqlite3

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

func TestADatabaseIsForItsUserAlone(t *testing.T) {
	for name, was := range map[string]os.FileMode{"new": 0, "shared on purpose": 0o660} {
		file := filepath.Join(t.TempDir(), "returns.db")
		want := os.FileMode(0o600)
		if was != 0 {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, was); err != nil {
				t.Fatal(err)
			}
			want = was
		}
		c, err := Database().Open(t.Context(), data.NewMap("sqlite3.database", file), logrus.New())
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %o", name, info.Mode(), err, want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
