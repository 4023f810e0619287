package x509v2

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestKeyFilesAreOwnerOnly(t *testing.T) {
	r, dir, out := registry(t, nil), filesDir(t), t.TempDir()
	for encoding, want := range map[string]fs.FileMode{"der": 0o644, "pkcs7_der": 0o644, "pkcs12": 0o600} {
		path := filepath.Join(out, encoding)
		for range 2 {
			must(t, r, "create_certificate", "path", path, "encoding", encoding,
				"signing_private_key", dir+"/ca.key", "signing_cert", dir+"/ca.crt",
				"private_key", dir+"/www.key", "CN", "x")
			if info, err := os.Stat(path); err != nil || info.Mode() != want {
				t.Errorf("%s: %v, %v, want %v", encoding, info.Mode(), err, want)
			}
		}
	}
}
