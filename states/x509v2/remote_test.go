//go:build unix && !small

package x509v2_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	filestate "github.com/brineproject/brine/states/file"
	state "github.com/brineproject/brine/states/x509v2"
)

type publishArgs struct {
	Tgt, Fun string
	Arg      any       `default:"()"`
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// peers returns the states of the minion id, which requests certificates from another minion with
// these policies.
func peers(t *testing.T, id string, policies *data.Map) *loader.Registry {
	t.Helper()
	features := data.NewMap("x509_v2", true)
	ca, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "ca", "features", features,
		"x509_signing_policies", policies, "cachedir", t.TempDir())},
		modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	publish := loader.F("publish", func(ctx context.Context, a publishArgs) (any, error) {
		list, _ := a.Arg.([]any)
		if text, ok := list[0].(string); a.Tgt != "ca" || !ok ||
			strings.Contains(data.Repr(list), "PRIVATE") {
			t.Errorf("published to %s: %s %s", a.Tgt, text, data.Repr(list))
		}
		v, err := ca.Invoke(ctx, a.Fun, data.Clone(list).([]any), data.NewMap("__pub_id", id))
		return data.NewMap(a.Tgt, v), err
	})
	opts := data.NewMap("id", id, "file_client", "local", "local", true, "user", "root",
		"cachedir", t.TempDir(), "hash_type", "sha256", "fileserver_backend", []any{"roots"},
		"file_roots", data.NewMap("base", []any{t.TempDir()}), "file_buffer_size", int64(262144),
		"test", false, "features", features)
	var own []loader.Plugin
	for _, p := range modules.Plugins(modules.Brought()) {
		if p.Name != "publish" {
			own = append(own, p)
		}
	}
	own = append(own, loader.Plugin{Name: "publish", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{publish}}, nil
	}})
	funcs, err := loader.NewRegistry(&loader.Env{Opts: opts}, own)
	if err != nil {
		t.Fatal(err)
	}
	env := *funcs.Env()
	env.Registries = map[string]*loader.Registry{}
	states, err := loader.NewRegistry(&env, []loader.Plugin{state.Plugin(), filestate.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	env.Registries["states"] = states
	return states
}

// TestAnotherSigns requests a certificate from another minion, and renews it when its policy
// changes.
func TestAnotherSigns(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"ca.key", "www.key", "www.csr"} {
		b, err := os.ReadFile("testdata/" + file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(f string) string { return filepath.Join(dir, f) }
	issued := filepath.Join(dir, "issued")
	if err := os.Mkdir(issued, 0o755); err != nil {
		t.Fatal(err)
	}
	policy := data.NewMap("minions", "www*", "signing_private_key", at("ca.key"),
		"signing_cert", at("ca.crt"), "O", "Policy", "keyUsage", "critical, digitalSignature",
		"days_valid", int64(100), "copypath", issued)
	policies := data.NewMap("www", []any{policy})
	www, db := peers(t, "www1", policies), peers(t, "db1", policies)
	self := data.NewMap("signing_private_key", at("ca.key"), "CN", "ca", "basicConstraints",
		"critical, CA:TRUE", "subjectKeyIdentifier", "hash")
	if got := outcome(t, www, false, "x509.certificate_managed", at("ca.crt"),
		self); got.Value("result") != true {
		t.Fatal(data.Repr(got))
	}
	ask := data.NewMap("ca_server", "ca", "signing_policy", "www", "private_key", at("www.key"),
		"CN", "www1", "O", "Mine", "copypath", dir, "days_remaining", int64(7))
	check := func(states *loader.Registry, test bool, want ...string) {
		t.Helper()
		got := data.Repr(outcome(t, states, test, "x509.certificate_managed", at("www.crt"), ask))
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("no %s in %s", text, got)
			}
		}
	}
	check(db, false, "'result': False",
		"ca_server reported errors:\\nminion not permitted to use specified signing policy")
	check(www, true, "'result': None", "The certificate would have been created")
	check(www, false, "'result': True", "The certificate has been created")
	for _, test := range []bool{false, true} {
		check(www, test, "'result': True", "'changes': {}", "The certificate is in the correct state")
	}
	if copies, err := os.ReadDir(issued); err != nil || len(copies) != 1 {
		t.Errorf("%d copies where the policy wants one: %v", len(copies), err)
	}
	if b, err := os.ReadFile(at("www.crt")); err != nil ||
		strings.Count(string(b), "BEGIN CERTIFICATE") != 1 {
		t.Errorf("got %s, %v", b, err)
	}
	policy.Set("O", "Changed")
	check(www, true, "'subject_name': 'CN=www1,O=Changed'", "would have been recreated")
	check(www, false, "'subject_name': 'CN=www1,O=Changed'", "has been recreated")
	check(www, false, "'changes': {}")
	ask = data.NewMap("ca_server", "ca", "signing_policy", "www", "csr", at("www.csr"))
	check(www, false, "'added': ['extendedKeyUsage', 'subjectAltName']", "has been recreated")
	ask.Set("csr", at("ca.crt"))
	check(www, false, "Could not load PEM-encoded certificate signing request.")
}

// TestOwnPolicy has a policy of this minion name the signing key.
func TestOwnPolicy(t *testing.T) {
	dir := t.TempDir()
	at := func(f string) string { return filepath.Join(dir, f) }
	key, err := os.ReadFile("testdata/ca.key")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("ca.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	states := system(t, data.NewMap("self",
		data.NewMap("signing_private_key", at("ca.key"), "CN", "self", "days_valid", int64(200))))
	for i, want := range []string{"would have been created", "has been created",
		"is in the correct state", "is in the correct state"} {
		got := outcome(t, states, i == 0 || i == 3, "x509.certificate_managed", at("a.crt"),
			data.NewMap("signing_policy", "self", "copypath", dir))
		if !strings.HasSuffix(got.Text("comment"), want) {
			t.Errorf("run %d: %s", i, data.Repr(got))
		}
	}
	if copies, err := filepath.Glob(at("*.crt")); err != nil || len(copies) != 2 {
		t.Errorf("copies %v, %v", copies, err)
	}
}

// TestFollowsNoLink replaces links by files. Test mode leaves the links alone.
func TestFollowsNoLink(t *testing.T) {
	states, dir := system(t, nil), t.TempDir()
	link := filepath.Join(dir, "a.csr")
	if err := os.Symlink("elsewhere", link); err != nil {
		t.Fatal(err)
	}
	key, err := filepath.Abs("testdata/www.key")
	if err != nil {
		t.Fatal(err)
	}
	args := data.NewMap("private_key", key, "CN", "a", "follow_symlinks", false)
	for i, want := range []string{"would have been created", "has been created", "is in the correct state"} {
		got := outcome(t, states, i == 0, "x509.csr_managed", link, args)
		info, err := os.Lstat(link)
		if err != nil || !strings.HasSuffix(got.Text("comment"), want) || info.Mode().IsRegular() != (i > 0) {
			t.Errorf("run %d: %s, %v", i, data.Repr(got), err)
		}
	}
}

// TestAutomaticListNumber checks that each list gets the next number, and that a revocation gets
// its first extension.
func TestAutomaticListNumber(t *testing.T) {
	states, dir := system(t, nil), t.TempDir()
	abs, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(dir, "ca.crt")
	outcome(t, states, false, "x509.certificate_managed", ca,
		data.NewMap("signing_private_key", abs+"/ca.key", "CN", "ca"))
	revoked := data.NewMap("serial_number", "0A")
	args := data.NewMap("signing_private_key", abs+"/ca.key", "signing_cert", ca, "revoked", []any{revoked})
	for i, step := range []struct {
		change func()
		want   string
	}{
		{func() {}, "{'created': '" + dir + "/a.crl'}"},
		{func() { args.Set("extensions", data.NewMap("cRLNumber", "auto")) },
			"{'extensions': {'added': ['cRLNumber'], 'changed': [], 'removed': []}}"},
		{func() { revoked.Set("extensions", data.NewMap("CRLReason", "superseded")) },
			"{'revocations': {'added': [], 'changed': ['0A'], 'removed': []}}"},
	} {
		step.change()
		for _, want := range []string{step.want, "{}"} {
			if got := outcome(t, states, false, "x509.crl_managed", dir+"/a.crl",
				args); data.Repr(got.Value("changes")) != want || got.Value("result") != true {
				t.Errorf("step %d: %s, want %s", i, data.Repr(got), want)
			}
		}
	}
	v, err := states.Env().Call(t.Context(), "x509.read_crl", []any{dir + "/a.crl"}, nil)
	if err != nil || !strings.Contains(data.Repr(v), "'cRLNumber': {'critical': False, 'value': 2}") {
		t.Errorf("got %s, %v", data.Repr(v), err)
	}
}
