package locale

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// TestRetcodeOfGetLocale checks the return code of the job: that of grep, which Salt 3006.18 uses
// to read the file.
func TestRetcodeOfGetLocale(t *testing.T) {
	for _, tt := range []struct {
		name, file, want string
		code             int64
	}{
		{"no file", "", "", 2},
		{"no line", "LANGUAGE=de\n", "", 1},
		{"a line", "LANGUAGE=de\nLANG=\"de_DE.UTF-8\"\n", "de_DE.UTF-8", 0},
	} {
		root := t.TempDir()
		if tt.file != "" {
			if err := os.MkdirAll(filepath.Join(root, "etc/default"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "etc/default/locale"), []byte(tt.file),
				0o600); err != nil {
				t.Fatal(err)
			}
		}
		grains := data.NewMap("os_family", "Debian")
		env := &loader.Env{Root: root, Log: logrus.New(), Grains: func() *data.Map { return grains }}
		m := &module{env: env}
		for range 2 {
			job := &loader.Context{}
			got, err := m.getLocale(loader.WithContext(t.Context(), job), loader.NoArgs{})
			if code, _ := job.Get("retcode"); err != nil || got != tt.want || code != tt.code {
				t.Errorf("%s: %v, %v, return code %v; want %q, %d", tt.name, got, err, code, tt.want, tt.code)
			}
		}
	}
}
