package x509v2

import (
	"context"
	"path"
	"path/filepath"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
)

type lookupArgs struct {
	Key     string
	Default any `default:"None"`
}

type globMatchArgs struct{ Tgt, MinionID string }

// registry returns the module with the functions of other modules that it calls. policies are part
// of the configuration.
func registry(t *testing.T, policies *data.Map) *loader.Registry {
	t.Helper()
	one := func(name string, f loader.Func) loader.Plugin {
		return loader.Plugin{Name: name,
			New: func(*loader.Env) (*loader.Module, error) { return &loader.Module{Funcs: []loader.Func{f}}, nil }}
	}
	lookup := func(found *data.Map) loader.Func {
		return loader.F("get", func(_ context.Context, a lookupArgs) (any, error) {
			if a.Key == "x509_signing_policies" && found != nil {
				return found, nil
			}
			return a.Default, nil
		})
	}
	glob := loader.F("glob", func(_ context.Context, a globMatchArgs) (any, error) { return path.Match(a.Tgt, a.MinionID) })
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("features",
		data.NewMap("x509_v2", true), "fips_mode", false)}, []loader.Plugin{
		Plugin(), one("pillar", lookup(nil)), one("config", lookup(policies)), one("match", glob),
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// filesDir returns the directory of the files that Salt and openssl created.
func filesDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCalls(t *testing.T) {
	dir := filesDir(t)
	policy := []any{data.NewMap("minions", "www*"),
		data.NewMap("signing_private_key", dir+"/ca.key"), data.NewMap("signing_cert", dir+"/ca.crt"),
		data.NewMap("O", "Policy"), data.NewMap("keyUsage", "critical digitalSignature"),
		data.NewMap("days_valid", int64(7))}
	calls.Check(t, "testdata/calls.json", registry(t, data.NewMap("www", policy)).Invoke, "@D@", dir)
}
