package vault_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/testvault"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/vault"
)

// minion returns the modules of a minion without a master that logs in with a token, and what it logs.
func minion(t *testing.T, s *testvault.Server, token string) (*loader.Registry, *logtest.Hook) {
	t.Helper()
	log, told := logtest.NewNullLogger()
	opts := data.NewMap("id", "web1", "cachedir", t.TempDir(), "file_client", "local", "vault",
		data.NewMap("url", s.URL, "auth", data.NewMap("method", "token", "token", token)))
	r, err := loader.NewRegistry(&loader.Env{Opts: opts, Log: log,
		Grains: func() *data.Map { return data.NewMap("id", "web1") }}, []loader.Plugin{vault.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, told
}

// testdata/reads.json has the results of Salt 3006.18 with a server like testvault.
func TestReads(t *testing.T) {
	s := testvault.Start(t)
	r, _ := minion(t, s, testvault.Root)
	calls.Check(t, "testdata/reads.json", r.Invoke, "URL", s.URL)
}

// testdata/writes.json has those of a sequence of changes.
func TestWrites(t *testing.T) {
	s := testvault.Start(t)
	r, _ := minion(t, s, testvault.Root)
	calls.Sequence(t, "testdata/writes.json", r.Invoke, "URL", s.URL)
}

func TestFailuresAreLoggedWithoutSecrets(t *testing.T) {
	s := testvault.Start(t)
	r, told := minion(t, s, testvault.Root)
	for fun, args := range map[string][]any{
		"vault.write_raw":     {"broken", data.NewMap("password", "hunter2")},
		"vault.delete_secret": {"other/x"}, "vault.destroy_secret": {"v1/app", int64(1)},
	} {
		told.Reset()
		v, err := r.Invoke(t.Context(), fun, args, nil)
		text := ""
		for _, e := range told.AllEntries() {
			text += e.Message + "\n"
		}
		if v != false || err != nil || text == "" || strings.Contains(text, "hunter2") ||
			strings.Contains(text, testvault.Root) {
			t.Errorf("%s: %v, %v, log %s", fun, v, err, text)
		}
	}
	r, told = minion(t, s, "s.hunter2")
	_, err := r.Invoke(t.Context(), "vault.read_secret", []any{"v1/app"}, nil)
	if err == nil || !strings.Contains(err.Error(), "403 Client Error: Forbidden") ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a wrong token: %v", err)
	}
	for _, e := range told.AllEntries() {
		if strings.Contains(e.Message, "hunter2") {
			t.Errorf("log %s", e.Message)
		}
	}
}

// Nobody but the minion can read the saved token, and clear_token_cache removes it.
func TestTokenCache(t *testing.T) {
	s := testvault.Start(t)
	r, _ := minion(t, s, testvault.Root)
	if _, err := r.Invoke(t.Context(), "vault.read_secret", []any{"v1/app"}, nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(r.Env().Opts.Text("cachedir"), "salt_vault_token"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for _, want := range []bool{true, false} {
		if v, err := r.Invoke(t.Context(), "vault.clear_token_cache", nil, nil); v != want || err != nil {
			t.Errorf("%v, %v, want %v", v, err, want)
		}
	}
}

func TestSecretsAreHiddenInEvents(t *testing.T) {
	r, _ := minion(t, testvault.Start(t), testvault.Root)
	f, _ := r.Func("vault.read_secret")
	if spec := f.Spec(); len(spec.SecretResult) != 1 || spec.SecretResult[0] != loader.SecretAll {
		t.Errorf("%v", spec.SecretResult)
	}
}
