//go:build unix && !small

package x509v2_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestNewContainerIsTheOwners(t *testing.T) {
	keys, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	states, dir := system(t, nil), t.TempDir()
	path, ca := filepath.Join(dir, "www.p12"), filepath.Join(dir, "ca.crt")
	outcome(t, states, false, "x509.certificate_managed", ca,
		data.NewMap("signing_private_key", keys+"/ca.key", "CN", "ca"))
	words := data.NewMap("signing_private_key", keys+"/ca.key", "signing_cert", ca,
		"private_key", keys+"/www.key", "CN", "www", "encoding", "pkcs12")
	for _, fresh := range []bool{true, false} {
		ret := outcome(t, states, false, "x509.certificate_managed", path, words)
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 || info.Size() == 0 || ret.Value("result") != true ||
			data.Truth(ret.Value("changes")) != fresh {
			t.Errorf("%v, %v: %s", info, err, data.Repr(ret))
		}
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	outcome(t, states, false, "x509.certificate_managed", path, words)
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("the mode of a file that is there has become %v, %v", info.Mode(), err)
	}
}
