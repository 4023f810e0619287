package x509v2

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type publishArgs struct {
	Tgt, Fun string
	Arg      any `default:"()"`
}

func TestNoPrivateKeyGoesToAnotherMinion(t *testing.T) {
	key, err := os.ReadFile("testdata/www.key")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := os.ReadFile("testdata/www.crt")
	if err != nil {
		t.Fatal(err)
	}
	var sent []any
	publish := loader.F("publish", func(_ context.Context, a publishArgs) (any, error) {
		sent, _ = a.Arg.([]any)
		return data.NewMap(a.Tgt, data.NewMap("data", cert, "errors", []any{})), nil
	})
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("features",
		data.NewMap("x509_v2", true))}, []loader.Plugin{Plugin(),
		{Name: "publish", New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: []loader.Func{publish}}, nil }}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, tt := range []struct {
		signing any
		goes    bool
	}{{string(key), false}, {key, false}, {"/etc/pki/ca.key", true}} {
		args := data.NewMap("ca_server", "ca", "signing_policy", "www", "private_key", string(key),
			"private_key_passphrase", nil, "signing_private_key", tt.signing,
			"signing_private_key_passphrase", "geheim", "CN", "www", "copypath", dir)
		if _, err := r.Invoke(t.Context(), "x509.create_certificate", nil, args); err != nil {
			t.Fatal(err)
		}
		wish, _ := sent[1].(*data.Map)
		if copies, err := filepath.Glob(filepath.Join(dir, "*.crt")); err != nil ||
			len(copies) != 1 || wish.Has("copypath") {
			t.Errorf("copies here: %v, %v; asked for %s", copies, err, data.Repr(wish))
		}
		if text := data.Repr(sent); strings.Contains(text, "PRIVATE") || strings.Contains(text, "geheim") {
			t.Errorf("sent %s", text)
		}
		if wish.Has("signing_private_key") != tt.goes || !wish.Has("public_key") || wish.Text("CN") != "www" {
			t.Errorf("asked for %s", data.Repr(wish))
		}
	}
}
