package state_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/yaml"
)

// harness is a minion whose host is the test.
type harness struct {
	*loader.Registry
	loader.Jobs // for the methods that the tests do not use

	jobs    []*data.Map          // that are running
	runs    func() []*data.Map   // replaces jobs
	queries []loader.PillarQuery // that were received
	pillar  *data.Map            // the answer
}

func newHarness(t *testing.T, files map[string]string, opts ...any) *harness {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "srv"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		at := filepath.Join(dir, "srv", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755),
			os.WriteFile(at, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	h := &harness{pillar: data.NewMap("k", "fresh")}
	all := data.NewMap("id", "web1", "file_client", "local",
		"cachedir", filepath.Join(dir, "cache"), "fileserver_backend", []any{"roots"},
		"file_roots", data.NewMap("base", []any{filepath.Join(dir, "srv")}), "hash_type", "sha256",
		"renderer", "jinja|yaml", "saltenv", nil, "pillarenv", nil, "conf_file", filepath.Join(dir,
			"minion"), "decrypt_pillar_renderers", []any{"gpg", "nacl"})
	all.Update(data.NewMap(opts...))
	env := &loader.Env{Opts: all, Pillar: func() *data.Map { return data.NewMap("k", "known") }}
	env.Host.Jobs = h
	env.Grains = func() *data.Map { // as after the minion collected them again
		text, _ := os.ReadFile(filepath.Join(dir, "grains"))
		v, _ := yaml.Load(text, yaml.Options{})
		stored, _ := v.(*data.Map)
		return stored
	}
	env.Host.CompilePillar = func(_ context.Context, q loader.PillarQuery) (*data.Map, error) {
		h.queries = append(h.queries, q)
		return h.pillar, nil
	}
	var err error
	if h.Registry, err = loader.NewRegistry(env, modules.Plugins(modules.Brought())); err != nil {
		t.Fatal(err)
	}
	return h
}

// Running returns the jobs of the test.
func (h *harness) Running() []*data.Map {
	if h.runs != nil {
		return h.runs()
	}
	return h.jobs
}

// call runs a function with command-line arguments as the job jid.
func (h *harness) call(t *testing.T, jid, fun string, args ...string) loader.Result {
	t.Helper()
	return h.Call(t.Context(), fun, loader.WireArgs(args),
		loader.CallOptions{Pub: data.NewMap("jid", jid, "fun", fun)})
}

// expect calls a function twice and compares the result, in Python's form, and the return code.
func (h *harness) expect(t *testing.T, want string, code int, fun string, args ...string) {
	t.Helper()
	for range 2 {
		res := h.call(t, "20260101000000000009", fun, args...)
		if got := data.Repr(res.Value); got != want || res.Retcode != code {
			t.Errorf("%s %q = %s, return code %d, want %s, %d", fun, args, got, res.Retcode, want, code)
		}
	}
}

// seen is an SLS whose state shows what templates see.
const seen = "x:\n  test.nop:\n    - name: {{ pillar.k }} {{ salt['config.get']('k') }} {{ opts.pillarenv }} {{ saltenv }} {{ opts.test }}\n"

func (h *harness) name(t *testing.T, args ...string) string {
	t.Helper()
	res := h.call(t, "20260101000000000009", "state.show_low_sls", append([]string{"see"}, args...)...)
	list, _ := res.Value.([]any)
	if len(list) != 1 {
		t.Fatalf("%q: %s", args, data.Repr(res.Value))
	}
	chunk, _ := list[0].(*data.Map)
	return chunk.Text("name")
}

// TestTemplatesSeeTheCall checks that only templates and the functions that they call see the
// options and the pillar of the call.
func TestTemplatesSeeTheCall(t *testing.T) {
	h := newHarness(t, map[string]string{"see.sls": seen})
	for _, tt := range []struct{ args, want string }{
		{"", "fresh fresh None base None"},
		{"test=True", "fresh fresh None base True"},
		{"tEST=1", "fresh fresh None base True"},
		{"pillarenv=dev", "fresh fresh dev base None"},
		{`pillar={"k": "given"}`, "given given None base None"},
	} {
		var args []string
		if tt.args != "" {
			args = []string{tt.args}
		}
		if got := h.name(t, args...); got != tt.want {
			t.Errorf("%q: %s, want %s", args, got, tt.want)
		}
	}
	last := h.queries[len(h.queries)-1]
	if last.SaltEnv != "base" || last.PillarEnv != "" || last.Override.Text("k") != "given" {
		t.Errorf("the pillar was asked for with %+v", last)
	}
	h.expect(t, "'known'", 0, "config.get", "k")
	h.expect(t, "None", 0, "config.get", "test", "None")
}

// TestPillarOfSaltCall checks that salt-call reuses the pillar that it has fetched.
func TestPillarOfSaltCall(t *testing.T) {
	h := newHarness(t, map[string]string{"see.sls": seen}, "__cli", "salt-call")
	if got := h.name(t); got != "known known None base None" || len(h.queries) != 0 {
		t.Errorf("%s after %d queries", got, len(h.queries))
	}
	if got := h.name(t, "pillarenv=dev"); got != "fresh fresh dev base None" || len(h.queries) != 1 {
		t.Errorf("%s after %d queries", got, len(h.queries))
	}
}

// TestEncryptedPillar checks that a pillar which cannot be decrypted or is no dictionary is left
// out, and that text is parsed as YAML.
func TestEncryptedPillar(t *testing.T) {
	h := newHarness(t, map[string]string{"see.sls": seen, "name.sls": "{{ pillar.k }}:\n  test.nop: []\n"})
	for _, tt := range []struct{ pillar, enc, want string }{
		{"k: text", "gpg", "{'text': {'test': ['nop', {'order': 10000}], '__sls__': 'name', '__env__': 'base'}}"},
		{"k: text", "nosuch", "{'text': {'test': ['nop', {'order': 10000}], '__sls__': 'name', '__env__': 'base'}}"},
		{"k: [", "gpg", "{'fresh': {'test': ['nop', {'order': 10000}], '__sls__': 'name', '__env__': 'base'}}"},
	} {
		res, err := h.Invoke(t.Context(), "state.show_sls", []any{"name"},
			data.NewMap("pillar", tt.pillar, "pillar_enc", tt.enc))
		if got := data.Repr(res); got != tt.want || err != nil {
			t.Errorf("%+v: %s, %v", tt, got, err)
		}
	}
	h.expect(t, "\"ERROR executing 'state.show_sls': Pillar data must be formatted as a dictionary, unless pillar_enc is specified.\"", 1,
		"state.show_sls", "name", "pillar=[1]")
}

func TestPillarWithErrors(t *testing.T) {
	h := newHarness(t, map[string]string{"a.sls": "a:\n  test.nop: []\n", "top.sls": "base:\n  '*': [a]\n"})
	h.pillar = data.NewMap("_errors", []any{"one", "two"})
	for _, fun := range []string{"state.show_sls", "state.show_low_sls", "state.sls_exists",
		"state.show_top", "state.show_highstate", "state.show_lowstate", "state.show_states"} {
		args := []string{"a"}
		if !strings.Contains(fun, "sls") {
			args = nil
		}
		h.expect(t, `'ERROR: Pillar failed to render. Additional info follows:\n\n- one\n- two'`, 1,
			fun, args...)
		if res := h.call(t, "1", fun, append(args, "force=True")...); res.Err != nil || res.Retcode != 0 {
			t.Errorf("%s with force: %s", fun, data.Repr(res.Value))
		}
	}
	h.expect(t, "{'base': {'used': ['a'], 'unused': ['top'], 'count_all': 2, 'count_used': 1, 'count_unused': 1}}", 0, "state.show_state_usage")
}

func TestOptionsOfACall(t *testing.T) {
	h := newHarness(t, map[string]string{"see.sls": seen}, "lock_saltenv", true, "saltenv", "base")
	h.expect(t, "'ERROR: lock_saltenv is enabled, saltenv cannot be changed'", 1, "state.show_sls",
		"see", "saltenv=dev")
	if got := h.name(t, "saltenv=base"); got != "fresh fresh None base None" {
		t.Error(got)
	}
	h = newHarness(t, map[string]string{"see.sls": seen}, "pillarenv_from_saltenv", true, "test", true)
	if got := h.name(t, "saltenv=base"); got != "fresh fresh base base True" {
		t.Error(got)
	}
	file := filepath.Join(t.TempDir(), "local")
	if err := os.WriteFile(file, []byte("pillarenv: theirs\ntest: false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := h.name(t, "localconfig="+file); got != "fresh fresh theirs base False" {
		t.Error(got)
	}
}

func TestWithoutFiles(t *testing.T) {
	h := newHarness(t, nil, "file_client", "remote")
	h.expect(t, "'ERROR: state: there is no master to get files from'", 1, "state.show_sls", "a")
}

const (
	earlier = "20260101000000000001"
	later   = "20260101000000000011"
)

func TestConflict(t *testing.T) {
	h := newHarness(t, map[string]string{"a.sls": "a:\n  test.nop: []\n"})
	h.jobs = []*data.Map{data.NewMap("jid", earlier, "fun", "state.apply", "pid", int64(7)),
		data.NewMap("jid", later, "fun", "test.sleep", "pid", int64(8))}
	text := `['The function "state.apply" is running as PID 7 and was started at 2026, Jan 01 00:00:00.000001 with jid 20260101000000000001']`
	h.expect(t, text, 0, "state.running")
	h.expect(t, "[]", 0, "state.running", "concurrent=True")
	for _, fun := range []string{"state.show_sls", "state.show_low_sls"} {
		h.expect(t, text, 1, fun, "a")
	}
	for _, fun := range []string{"state.show_top", "state.show_highstate", "state.show_lowstate",
		"state.show_states", "state.show_state_usage"} {
		h.expect(t, text, 1, fun)
	}
	h.expect(t, "False", 1, "state.sls_exists", "a")
	h.expect(t, "True", 0, "state.sls_exists", "a", "concurrent=True")
	h.expect(t, text, 1, "state.show_sls", "a", "queue=1") // one call waits already
}

// TestQueue checks that a queued call goes on when those that began before it are done.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, map[string]string{"a.sls": "a:\n  test.nop: []\n"}, "state_queue", true)
		for _, args := range [][]string{{"a"}, {"a", "queue=True"}, {"a", "queue=2"}, {"a", "queue=0"}} {
			begin := time.Now()
			h.runs = func() []*data.Map {
				first, second := data.NewMap("jid", earlier, "fun", "state.apply", "pid", int64(7)),
					data.NewMap("jid", later, "fun", "state.apply", "pid", int64(8))
				if time.Since(begin) < 2500*time.Millisecond {
					return []*data.Map{first, second}
				}
				return []*data.Map{second}
			}
			if res := h.call(t, "20260101000000000009", "state.sls_exists",
				args...); res.Value != true || time.Since(begin) != 3*time.Second {
				t.Errorf("%q: %s after %s", args, data.Repr(res.Value), time.Since(begin))
			}
		}
		h.runs = func() []*data.Map {
			return []*data.Map{data.NewMap("jid", earlier, "fun", "state.apply", "pid", int64(7))}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if res := h.Call(ctx, "state.show_top", nil,
			loader.CallOptions{Pub: data.NewMap("jid", later)}); !errors.Is(res.Err,
			context.DeadlineExceeded) {
			t.Errorf("a call that is given up: %s", data.Repr(res.Value))
		}
	})
}

func TestPauses(t *testing.T) {
	h := newHarness(t, nil)
	h.expect(t, "{}", 0, "state.get_pauses")
	h.jobs = []*data.Map{data.NewMap("jid", earlier, "fun", "state.apply", "pid", int64(7))}
	h.expect(t, "None", 0, "state.pause", earlier)
	h.expect(t, "None", 0, "state.pause", earlier, "vim", "20")
	h.expect(t, "None", 0, "state.soft_kill", earlier, "emacs")
	h.expect(t, "None", 0, "state.pause", later)
	all := "{'" + earlier + "': {'__all__': {}, 'vim': {'duration': 20}, 'emacs': {'kill': True}}}"
	h.expect(t, all, 0, "state.get_pauses", earlier)
	h.expect(t, all, 0, "state.get_pauses")
	h.expect(t, "None", 0, "state.resume", earlier, "vim")
	h.expect(t, "{'"+earlier+"': {'__all__': {}, 'emacs': {'kill': True}}}", 0, "state.get_pauses",
		"["+earlier+", "+later+"]")
	h.expect(t, "None", 0, "state.soft_kill", earlier)
	h.expect(t, "None", 0, "state.resume", earlier)
	h.expect(t, "{'"+earlier+"': {}}", 0, "state.get_pauses")
	if _, err := os.Stat(filepath.Join(h.Env().Opts.Text("cachedir"),
		"state_pause", later)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("pauses of a job that is over: %v", err)
	}
	for _, fun := range []string{"state.pause", "state.soft_kill", "state.resume"} {
		if res := h.call(t, earlier, fun, "../../outside"); res.Err == nil {
			t.Errorf("%s of a job that is none: %s", fun, data.Repr(res.Value))
		}
	}
}

func TestRequests(t *testing.T) {
	h := newHarness(t, nil)
	h.expect(t, "{}", 0, "state.check_request")
	h.expect(t, "True", 0, "state.clear_request")
	file := filepath.Join(h.Env().Opts.Text("cachedir"), "req_state.p")
	// {'one': {'mods': 'a'}, 'two': {'mods': 'b'}}
	body := "\x82\xa3one\x81\xa4mods\xa1a\xa3two\x81\xa4mods\xa1b"
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	h.expect(t, "{'one': {'mods': 'a'}, 'two': {'mods': 'b'}}", 0, "state.check_request")
	h.expect(t, "{'mods': 'b'}", 0, "state.check_request", "two")
	h.expect(t, "False", 0, "state.clear_request", "three")
	if res := h.call(t, earlier, "state.check_request",
		"three"); !strings.Contains(data.Str(res.Value), "KeyError: 'three'") {
		t.Errorf("a request that is not there: %s", data.Repr(res.Value))
	}
	if res := h.call(t, earlier, "state.clear_request", "one"); res.Value != true {
		t.Errorf("clear_request one: %s", data.Repr(res.Value))
	}
	h.expect(t, "{'two': {'mods': 'b'}}", 0, "state.check_request")
	h.expect(t, "True", 0, "state.clear_request")
	h.expect(t, "{}", 0, "state.check_request")
	if err := os.WriteFile(file, []byte("\xc1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if res := h.call(t, earlier, "state.check_request"); res.Err == nil {
		t.Errorf("a broken file: %s", data.Repr(res.Value))
	}
}

func TestClearCache(t *testing.T) {
	h := newHarness(t, nil)
	dir := h.Env().Opts.Text("cachedir")
	h.expect(t, "[]", 0, "state.clear_cache")
	for _, name := range []string{"highstate.cache.p", "sls.p", "folder.cache.p/x"} {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755),
			os.WriteFile(at, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if res := h.call(t, earlier, "state.clear_cache"); data.Repr(res.Value) != "['highstate.cache.p']" {
		t.Errorf("got %s", data.Repr(res.Value))
	}
	h.expect(t, "[]", 0, "state.clear_cache")
}

func TestDisable(t *testing.T) {
	h := newHarness(t, nil)
	for _, tt := range []struct{ fun, arg, want string }{
		{"state.disable", "highstate,web.*",
			"{'res': True, 'msg': 'Info: highstate state disabled.\\nInfo: web.* state disabled.'}"},
		{"state.disable", "highstate", "{'res': True, 'msg': 'Info: highstate state already disabled.'}"},
		{"state.enable", "highstate", "{'res': True, 'msg': 'Info: highstate state enabled.'}"},
		{"state.enable", "highstate", "{'res': True, 'msg': 'Info: highstate state already enabled.'}"},
	} {
		if res := h.call(t, earlier, tt.fun, tt.arg); data.Repr(res.Value) != tt.want {
			t.Errorf("%s %s = %s, want %s", tt.fun, tt.arg, data.Repr(res.Value), tt.want)
		}
	}
	h.expect(t, "['web.*']", 0, "state.list_disabled")
}

// TestOrchestrate checks that the result is that of the runner, whose return code also reports SLS
// that do not compile.
func TestOrchestrate(t *testing.T) {
	h := newHarness(t, nil)
	for range 2 {
		v, err := h.Invoke(t.Context(), "state.orchestrate", []any{"nosuch"}, nil)
		want := "{'data': {'web1': [\"No matching sls found for 'nosuch' in env 'base'\"]}, 'outputter': 'highstate', 'retcode': 1}"
		if err != nil || data.Repr(v) != want {
			t.Errorf("got %s, %v, want %s", data.Repr(v), err, want)
		}
	}
	if _, err := h.Invoke(t.Context(), "state.orchestrate", []any{"x"},
		data.NewMap("pillar", "y")); err == nil ||
		err.Error() != "Pillar data must be formatted as a dictionary" {
		t.Errorf("a pillar that is none: %v", err)
	}
}
