//go:build unix

package pki

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestProtectClosesAKeyToOthers(t *testing.T) {
	keys, err := OpenKeys(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(keys.Path(), "master.pem")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		is, want   fs.FileMode
		permissive bool
	}{
		{0o644, 0o400, false}, {0o777, 0o400, false}, {0o440, 0o400, false}, {0o400, 0o400, false},
		{0o600, 0o600, false},
		{0o440, 0o440, true}, {0o640, 0o640, true}, {0o644, 0o440, true},
	} {
		if err := os.Chmod(file, tt.is); err != nil {
			t.Fatal(err)
		}
		done, err := keys.Protect("master", tt.permissive)
		info, _ := os.Stat(file)
		if err != nil || done != (tt.is != tt.want) || info.Mode().Perm() != tt.want {
			t.Errorf("Protect of %o, permissive %t: %t, %v, %o; want %o", tt.is, tt.permissive,
				done, err, info.Mode().Perm(), tt.want)
		}
	}
}
