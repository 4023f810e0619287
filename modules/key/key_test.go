package key

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// pem has the form of a key; the fingerprints below are the output of salt-call key.finger of Salt
// 3006.18 for it.
const pem = "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----\n"

func TestFinger(t *testing.T) {
	dir := t.TempDir()
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("pki_dir", dir, "hash_type",
		"sha256")}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	call := func(fun string, args ...any) any {
		t.Helper()
		v, err := r.Invoke(t.Context(), fun, args, nil)
		if err != nil {
			return err.Error()
		}
		return v
	}
	for _, fun := range []string{"key.finger", "key.finger_master"} {
		if got := call(fun); got != "" {
			t.Errorf("%s without a key = %v", fun, got)
		}
	}
	for _, name := range []string{"minion.pub", "minion_master.pub"} {
		text := pem
		if name == "minion_master.pub" {
			text = strings.ReplaceAll(pem, "\n", "\r\n")
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		fun  string
		args []any
		want string
	}{
		{"key.finger", nil, "d7:ef:f7:6c:d7:98:a5:7f:85:82:96:84:ba:f9:79:9b:68:61:3a:22:14:86:98:ca:08:5f:27:4d:d0:c2:50:33"},
		{"key.finger_master", []any{nil},
			"d7:ef:f7:6c:d7:98:a5:7f:85:82:96:84:ba:f9:79:9b:68:61:3a:22:14:86:98:ca:08:5f:27:4d:d0:c2:50:33"},
		{"key.finger", []any{"md5"}, "48:27:9e:ec:62:70:4e:07:22:b4:2c:c9:53:0b:bd:d6"},
		{"key.finger", []any{"crc"}, "fingerprint: hash \"crc\": unknown algorithm"},
	} {
		if got := call(tt.fun, tt.args...); got != tt.want {
			t.Errorf("%s%v = %v, want %s", tt.fun, tt.args, got, tt.want)
		}
	}
}
