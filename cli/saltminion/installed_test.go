//go:build !small

package saltminion

import (
	"os"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
)

// TestInstalledSaltInADaemon calls a module of an installed Salt in two jobs of a daemon.
func TestInstalledSaltInADaemon(t *testing.T) {
	need.Time(t, "it loads Salt's library")
	need.Program(t, "python3")
	value := os.Getenv("BRINE_TEST_SALT")
	if value == "" {
		value = "auto"
	}
	log := logrus.New()
	log.SetOutput(t.Output())
	opts := data.NewMap("id", "m1", "cachedir", t.TempDir(), "python_salt", value)
	code := NewCode(opts, log, true)
	defer code.Close()
	if err := code.Check(); err != nil {
		t.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{Opts: opts, Log: log}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Extend(code.Source("modules", r.Env(), nil))
	if !r.Has("sqlite3.sqlite_version") { // not a failure where all is required: Salt is not ours to install
		t.Skip("there is no installed Salt; BRINE_TEST_SALT may name one")
	}
	for range 2 {
		ctx, scope := loader.WithScope(t.Context())
		got, err := r.Invoke(ctx, "sqlite3.sqlite_version", nil, nil)
		if text, ok := got.(string); err != nil || !ok || !strings.HasPrefix(text, "3.") {
			t.Errorf("sqlite3.sqlite_version = %v, %v", got, err)
		}
		if err := scope.Close(); err != nil {
			t.Error(err)
		}
	}
	if why := r.MissingText("no_such_module.f"); why != "'no_such_module.f' is not available." {
		t.Errorf("a module that Salt has not is missing because %q", why)
	}
}
