package saltutil

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
)

// fileServer is a module cp: cache_dir copies the files of the environments to the cache.
type fileServer struct {
	dir   string                       // cachedir
	files map[string]map[string]string // environment → path → text
	fail  error
	extra []any // more paths in the result
}

func (s *fileServer) plugin() loader.Plugin {
	type args struct {
		Path       string
		Saltenv    string `default:"'base'"`
		Empty      bool   `name:"include_empty" default:"False"`
		IncludePat string `default:"''"`
	}
	return loader.Plugin{Name: "cp", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("cache_dir",
			func(_ context.Context, a args) (any, error) {
				if a.IncludePat != `E@(\.(pyx?|so|zip)|(^|/)[^./]+)$` || a.Empty {
					return nil, errors.New("unexpected pattern " + a.IncludePat)
				}
				paths := slices.Clone(s.extra)
				for path, text := range s.files[a.Saltenv] {
					rest, ok := strings.CutPrefix(path, strings.TrimPrefix(a.Path, "salt://")+"/")
					if !ok {
						continue
					}
					local := filepath.Join(s.dir, "files", a.Saltenv,
						strings.TrimPrefix(a.Path, "salt://"), rest)
					if err := errors.Join(os.MkdirAll(filepath.Dir(local), 0o700),
						os.WriteFile(local, []byte(text), 0o600)); err != nil {
						return nil, err
					}
					paths = append(paths, local)
				}
				slices.SortFunc(paths, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
				return paths, s.fail
			})}}, nil
	}}
}

func newSynced(t *testing.T) (*fake, *fileServer) {
	t.Helper()
	s := &fileServer{}
	f := newFake(t, s.plugin())
	s.dir = f.dir
	s.files = map[string]map[string]string{
		"base": {"_modules/one.py": "1", "_modules/sub/two.py": "2", "_grains/g.py": "g", "top.sls": ""},
		"dev":  {"_modules/three.py": "3"},
	}
	return f, s
}

func TestSyncFetchesOnceAndFollowsTheServer(t *testing.T) {
	f, s := newSynced(t)
	steps := []struct {
		what, call, want string
		before           func()
	}{
		{"first", "sync_modules", "['modules.one', 'modules.sub.two']", nil},
		{"again", "sync_modules", "[]", nil},
		{"changed", "sync_modules", "['modules.one']", func() { s.files["base"]["_modules/one.py"] = "new" }},
		{"both", "sync_modules saltenv=base,dev", "['modules.three']", nil},
		{"extmods", "list_extmods", "{'modules': ['one', 'two', 'three']}", nil},
		{"base alone", "sync_modules", "[]", nil}, // removes the modules of dev
		{"extmods of base", "list_extmods", "{'modules': ['one', 'two']}", nil},
		{"gone", "sync_modules", "[]", func() { delete(s.files["base"], "_modules/sub/two.py") }},
		{"extmods then", "list_extmods", "{'modules': ['one']}", nil},
		{"empty", "sync_states", "[]", nil},
		{"failing", "sync_modules", "[]", func() { s.fail = errors.New("no master") }},
		{"extmods after a failure", "list_extmods", "{'modules': ['one']}", nil},
	}
	for _, st := range steps {
		if st.before != nil {
			st.before()
		}
		words := strings.Fields(st.call)
		expect(t, st.what, sorted(call(t, f.Registry, words[0], words[1:]...)), sorted(st.want))
	}
	if body, err := os.ReadFile(filepath.Join(f.dir, "extmods", "modules", "one.py")); err != nil ||
		string(body) != "new" {
		t.Errorf("one.py holds %q, %v", body, err)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "module_refresh")); err != nil {
		t.Error("the file by which Salt loads modules anew is not there")
	}
}

// TestSyncFetchesPrograms checks that programs are fetched, and other files without a suffix are not.
func TestSyncFetchesPrograms(t *testing.T) {
	f, s := newSynced(t)
	s.files["base"] = map[string]string{
		"_modules/own": "#!/bin/sh\n# describe\n", "_modules/README": "describe", "_modules/other": "#!/bin/sh\n", "_modules/one.py": "1",
	}
	for _, want := range []string{"['modules.one', 'modules.own']", "[]"} {
		expect(t, "programs", sorted(call(t, f.Registry, "sync_modules")), sorted(want))
	}
	if _, err := os.Stat(filepath.Join(f.dir, "extmods", "modules", "own")); err != nil {
		t.Error(err)
	}
}

// sorted sorts the names of a list.
func sorted(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("[]{}, ", r) })
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestSyncListsAndEnvironments(t *testing.T) {
	f, s := newSynced(t)
	expect(t, "blacklist", call(t, f.Registry, "sync_modules", "extmod_blacklist=one,other"),
		"['modules.sub.two']")
	expect(t, "whitelist", call(t, f.Registry, "sync_modules", "extmod_whitelist=one"), "['modules.one']")
	expect(t, "list_extmods", call(t, f.Registry, "list_extmods"), "{'modules': ['one']}")
	f.Env().Opts.Set("extmod_blacklist", data.NewMap("modules", []any{"one"}))
	expect(t, "option", call(t, f.Registry, "sync_modules"), "['modules.sub.two']")
	f.Env().Opts.Set("clean_dynamic_modules", false)
	expect(t, "sync_all", call(t, f.Registry, "sync_all", "extmod_blacklist={modules: [sub.two]}",
		"saltenv=[base, dev]"),
		"{'clouds': [], 'beacons': [], 'modules': ['modules.one', 'modules.three'], 'states': [], 'sdb': [], 'grains': ['grains.g'], 'renderers': [], "+
			"'returners': [], 'output': [], 'utils': [], 'log_handlers': [], 'executors': [], 'proxymodules': [], 'engines': [], "+
			"'thorium': [], 'serializers': [], 'matchers': []}")
	s.extra = []any{filepath.Join(f.dir, "files", "base", "_modules", "..", "..", "..", "..", "evil.py")}
	expect(t, "outside", call(t, f.Registry, "sync_modules"), "[]")
}

func TestSyncAsksForTheTopFile(t *testing.T) {
	f, s := newSynced(t)
	var top any = data.NewMap("dev", []any{"x"})
	type args struct {
		Options *data.Map `kwargs:"kwargs"`
	}
	state := loader.Plugin{Name: "state", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("show_top",
			func(_ context.Context, a args) (any, error) {
				if a.Options.Value("concurrent") != true || a.Options.Value("force") != true {
					return []any{"a state runs"}, nil
				}
				return top, nil
			})}}, nil
	}}
	if err := f.Replace([]loader.Plugin{Plugin(), s.plugin(), state}); err != nil {
		t.Fatal(err)
	}
	expect(t, "dev", call(t, f.Registry, "sync_modules"), "['modules.three']")
	top = data.NewMap()
	expect(t, "nothing", sorted(call(t, f.Registry, "sync_modules")),
		sorted("['modules.one', 'modules.sub.two']"))
	top = []any{"cannot render"}
	expect(t, "trouble", call(t, f.Registry, "sync_modules"),
		"'ERROR: Unable to render top file(s): cannot render'")
}

func (f *fake) write(t *testing.T, path string, body []byte) string {
	t.Helper()
	path = filepath.Join(f.dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path, body, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestClearCache(t *testing.T) {
	f := newFake(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := []string{f.write(t, "a", nil), f.write(t, "files/base/b", nil),
		f.write(t, "extmods/modules/c.py", nil), f.write(t, "files/proc", nil)}
	kept := []string{f.write(t, "proc/20", nil), f.write(t, "seen_jobs", nil),
		f.write(t, "spool/m/r.ret", nil), outside}
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(f.dir, "link")); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "cache")
	if err := os.Symlink(f.dir, link); err != nil {
		t.Fatal(err)
	}
	f.Env().Opts.Set("cachedir", link)
	for range 2 {
		expect(t, "clear_cache", call(t, f.Registry, "clear_cache"), "True")
	}
	for _, path := range append(gone, filepath.Join(f.dir, "link")) {
		if there(path) {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range append(kept, link) {
		if !there(path) {
			t.Errorf("%s is gone", path)
		}
	}
}

func TestJobCache(t *testing.T) {
	f := newFake(t)
	const missing = "'Local jobs cache directory not found; you may need to enable cache_jobs on this minion'"
	expect(t, "find_cached_job", call(t, f.Registry, "find_cached_job", "20160503150049487736"), missing)
	expect(t, "find_cached_job outside", call(t, f.Registry, "find_cached_job", "../minion_jobs"), missing)
	expect(t, "clear_job_cache", call(t, f.Registry, "clear_job_cache"), "True")
	f.Env().Opts.Set("cache_jobs", true)
	expect(t, "find_cached_job with cache_jobs", call(t, f.Registry, "find_cached_job", "a"),
		"'Local jobs cache directory "+filepath.Join(f.dir, "minion_jobs", "a")+" not found'")
	body, err := payload.Marshal(data.NewMap("fun", "test.ping", "return", true))
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Dir(f.write(t, "minion_jobs/20160503150049487736/return.p", body))
	fresh := filepath.Dir(f.write(t, "minion_jobs/b/return.p", nil))
	broken := filepath.Dir(f.write(t, "minion_jobs/c/return.p", []byte{0xc1}))
	expect(t, "find_cached_job", call(t, f.Registry, "find_cached_job", "20160503150049487736"),
		"{'fun': 'test.ping', 'return': True}")
	expect(t, "find_cached_job of an empty file", call(t, f.Registry, "find_cached_job", "b"), "None")
	if got := call(t, f.Registry, "find_cached_job", "c"); !strings.Contains(got,
		"ERROR: return of job c in") {
		t.Errorf("find_cached_job of a damaged file gives %s", got)
	}
	when := time.Now().Add(-13 * time.Hour)
	if err := os.Chtimes(old, when, when); err != nil {
		t.Fatal(err)
	}
	expect(t, "clear_job_cache", call(t, f.Registry, "clear_job_cache"), "True")
	if !there(old) {
		t.Error("a job of 13 hours is gone after 24")
	}
	expect(t, "clear_job_cache", call(t, f.Registry, "clear_job_cache", "hours=12.5"), "True")
	if there(old) || !there(fresh) || !there(broken) {
		t.Error("clear_job_cache does not remove the old jobs alone")
	}
	if got := call(t, f.Registry, "clear_job_cache", "hours=x"); !strings.HasPrefix(got,
		`"Passed invalid arguments to saltutil.clear_job_cache: unsupported operand type(s) for -: 'float' and 'str'`) {
		t.Errorf("clear_job_cache hours=x gives %s", got)
	}
}

func TestKeys(t *testing.T) {
	f := newFake(t)
	master := f.write(t, "pki/minion_master.pub", []byte("old"))
	f.write(t, "pki/minion.pem", []byte("old"))
	expect(t, "regen_keys", call(t, f.Registry, "regen_keys"), "None")
	if there(master) {
		t.Error("the master's key is still there")
	}
	first, err := os.ReadFile(filepath.Join(f.dir, "pki", "minion.pem"))
	if err != nil || !strings.Contains(string(first), "PRIVATE KEY") {
		t.Fatalf("minion.pem: %v", err)
	}
	expect(t, "revoke_auth", call(t, f.Registry, "revoke_auth"), "True")
	expect(t, "revoke_auth", call(t, f.Registry, "revoke_auth", "preserve_minion_cache=True"), "False")
	expect(t, "requests", strings.Join(f.asked, ", "),
		"{'cmd': 'revoke_auth', 'preserve_minion_cache': False}, {'cmd': 'revoke_auth', 'preserve_minion_cache': True}")
	if got := call(t, f.registry(t, loader.Host{}), "revoke_auth"); !strings.Contains(got,
		`KeyError: 'master_uri'`) {
		t.Errorf("revoke_auth without a master gives %s", got)
	}
}

func TestOrders(t *testing.T) {
	f := newFake(t)
	if got := call(t, f.Registry, "cmd", "*", "test.ping"); !strings.HasSuffix(got,
		`salt.exceptions.SaltClientError: The salt master could not be contacted. Is master running?\n'`) {
		t.Errorf("cmd without a master gives %s", got)
	}
	var orders []string
	host := loader.Host{Order: func(_ context.Context, order *data.Map, yield func(string, *data.Map) bool) error {
		text := data.Repr(order.Value("tgt")) + " " + order.Text("fun") + " " + data.Repr(order.Value("arg"))
		for _, name := range []string{"batch", "failhard", "expect_minions", "ret_config",
			"ret_kwargs", "gather_job_timeout"} {
			if v, ok := order.Get(name); ok {
				text += " " + name + "=" + data.Str(v)
			}
		}
		orders = append(orders, text)
		ids := []any{"a", "b", "c"}
		if order.Text("tgt_type") == "list" {
			ids = append(order.Value("tgt").([]any), "too late")
		}
		var ret any = true
		if order.Text("fun") == "sys.list_functions" {
			ret = []any{"test.ping"}
		}
		for _, id := range ids {
			if !yield(id.(string), data.NewMap("ret", ret)) {
				return nil
			}
		}
		return nil
	}}
	r := f.registry(t, host)
	for _, tt := range []struct{ call, want, orders string }{
		{"cmd * test.ping", "{'a': {'ret': True}, 'b': {'ret': True}, 'c': {'ret': True}}",
			"'*' test.ping []"},
		{"cmd_iter * test.ping", "{'a': {'ret': True}, 'b': {'ret': True}, 'c': {'ret': True}}",
			"'*' test.ping []"},
		{"cmd a,b test.arg arg=[1,x=2] kwarg={y:3} tgt_type=list", "{'a': {'ret': True}, 'b': {'ret': True}}",
			"['a', 'b'] test.arg [1, {'__kwarg__': True, 'y': 3, 'x': 2}]"},
		{"cmd * test.ping batch=2", "{'a': {'out': 'highstate', 'ret': True}, 'b': {'out': 'highstate', 'ret': True}, 'c': {'out': 'highstate', 'ret': True}}",
			"'*' test.ping [] batch=2"},
		{"cmd * test.ping batch=10%", "{'a': {'out': 'highstate', 'ret': True}, 'b': {'out': 'highstate', 'ret': True}, 'c': {'out': 'highstate', 'ret': True}}",
			"'*' test.ping [] batch=10%"},
		{"cmd * test.ping batch=1 failhard=True _cmd_meta=True", "{'a': {'out': 'highstate', 'ret': True, " +
			"'retcode': None, 'jid': None}, 'b': {'out': 'highstate', 'ret': True, 'retcode': None, " +
			"'jid': None}, 'c': {'out': 'highstate', 'ret': True, 'retcode': None, 'jid': None}}",
			"'*' test.ping [] batch=1 failhard=True"},
		{"cmd * test.ping expect_minions=True ret_config=alt ret_kwargs={h:1} gather_job_timeout=3 timeout=2", "{'a': {'ret': True}, 'b': {'ret': True}, 'c': {'ret': True}}",
			"'*' test.ping [] expect_minions=True ret_config=alt ret_kwargs={'h': 1} gather_job_timeout=3"},
		{"cmd * nosuch.fun subset=1", "{}", "'*' sys.list_functions []"},
	} {
		orders = nil
		words := strings.Fields(tt.call)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], ":", ": ") // YAML needs the blank
		}
		expect(t, tt.call, call(t, r, words[0], words[1:]...), tt.want)
		expect(t, "orders of "+tt.call, strings.Join(orders, ", "), tt.orders)
	}
	orders = nil
	got := call(t, r, "cmd", "*", "test.ping", "subset=1")
	if strings.Count(got, "ret") != 1 || len(orders) != 2 {
		t.Errorf("subset gives %s by %v", got, orders)
	}
}

func TestMastersRegistries(t *testing.T) {
	f := newFake(t)
	type args struct {
		Args    []any     `args:"args"`
		Options *data.Map `kwargs:"kwargs"`
	}
	type envArgs struct {
		Saltenv string `default:"'none'"`
	}
	registry, err := loader.NewRegistry(&loader.Env{},
		[]loader.Plugin{{Name: "x", New: func(*loader.Env) (*loader.Module, error) {
			return &loader.Module{Funcs: []loader.Func{
				loader.F("f", func(_ context.Context, a args) (any, error) { return []any{a.Args, a.Options}, nil }),
				loader.F("env", func(_ context.Context, a envArgs) (any, error) { return a.Saltenv, nil }),
				loader.F("fail", func(context.Context, loader.NoArgs) (any, error) { return nil, errors.New("broken") }),
			}}, nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, fun := range []string{"runner", "wheel"} {
		expect(t, fun, call(t, f.Registry, fun, "x.f"), "'ERROR: "+notOnMaster+"'")
	}
	f.Env().Registries = map[string]*loader.Registry{"runners": registry, "wheel": registry}
	expect(t, "runner", call(t, f.Registry, "runner", "x.f", "arg=[1]", "kwarg={a: 2}", "b=3"),
		"[[1], {'a': 2, 'b': 3, '__pub_user': 'UNKNOWN'}]")
	expect(t, "runner saltenv", call(t, f.Registry, "runner", "x.env", "saltenv=dev"), "'dev'")
	expect(t, "runner full_return", call(t, f.Registry, "runner", "x.env", "full_return=True"),
		"{'fun': 'runner.x.env', 'jid': 'me', 'user': 'UNKNOWN', 'fun_args': [{'saltenv': 'base'}], 'return': 'base', 'success': True}")
	expect(t, "wheel", call(t, f.Registry, "wheel", "x.f", "1", "b=3"),
		"{'fun': 'wheel.x.f', 'jid': 'me', 'user': 'UNKNOWN', 'fun_args': [1, {'b': 3}], 'return': [[1], {'b': 3}], 'success': True}")
	if got := call(t, f.Registry, "wheel", "x.fail"); !strings.Contains(got,
		"Exception occurred in wheel x.fail: Traceback") || !strings.Contains(got, "'success': False") {
		t.Errorf("wheel x.fail gives %s", got)
	}
	if got := call(t, f.Registry, "runner", "nosuch.fun"); !strings.Contains(got, `KeyError: 'nosuch.fun'`) {
		t.Errorf("runner nosuch.fun gives %s", got)
	}
}

func TestMmoduleAndUpdate(t *testing.T) {
	f := newFake(t)
	f.Env().Opts.Set("file_roots", data.NewMap("base", []any{"/srv/salt"}))
	expect(t, "mmodule", call(t, f.Registry, "mmodule", "base", "saltutil.update", "version=1"),
		"{'_error': 'Esky not available as import'}")
	if got := call(t, f.Registry, "mmodule", "dev", "saltutil.update"); !strings.Contains(got,
		`KeyError: 'dev'`) {
		t.Errorf("mmodule of a missing environment gives %s", got)
	}
	expect(t, "update", call(t, f.Registry, "update"), "{'_error': 'Esky not available as import'}")
}

func FuzzParseTask(f *testing.F) {
	good, err := payload.Marshal(data.NewMap("jid", "1", "pid", int64(7)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, body []byte) {
		if task, err := parseTask(body); err == nil && (task.pid() <= 0 || task.load == nil) {
			t.Errorf("a job without a process: %v", task)
		}
	})
}

// TestSyncTellsOfPython checks that the log reports Python modules that cannot run without python3,
// once for each version of a file.
func TestSyncTellsOfPython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	f, s := newSynced(t)
	var said bytes.Buffer
	log := logrus.New()
	log.SetOutput(&said)
	f.Env().Log = log
	for _, step := range []struct {
		what, want string
		before     func()
	}{
		{"first", "salt://_modules/one.py, salt://_modules/sub/two.py. They were fetched but are not used", func() {}},
		{"again", "", func() {}},
		{"changed", "python3: salt://_modules/one.py. They",
			func() { s.files["base"]["_modules/one.py"] = "new" }},
	} {
		said.Reset()
		step.before()
		call(t, f.Registry, "sync_modules")
		if warned := strings.Contains(said.String(), "Python"); warned != (step.want != "") ||
			!strings.Contains(said.String(), step.want) {
			t.Errorf("%s: the log says %q", step.what, said.String())
		}
	}
}

// TestControlIsAJob checks that functions of the master run as jobs of their own if the host
// supports that, and that an orchestration gets the event with the arguments first.
func TestControlIsAJob(t *testing.T) {
	f := newFake(t)
	registry, err := loader.NewRegistry(&loader.Env{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	r := f.registry(t, loader.Host{
		FireMaster: func(_ context.Context, tag string, body *data.Map) error {
			told = append(told, tag+" "+data.Repr(body))
			return nil
		},
		Control: func(_ context.Context, kind string, c loader.MasterCall) *data.Map {
			return data.NewMap("fun", kind+"."+c.Fun, "user", c.User, "return", append(c.Args, c.Kwargs))
		},
	})
	r.Env().Registries = map[string]*loader.Registry{"runners": registry, "wheel": registry}
	for _, tt := range []struct {
		fun    string
		args   []any
		kwargs *data.Map
		want   string
		told   string
	}{
		{"runner", []any{"x.f", []any{int64(1)}},
			data.NewMap("full_return", true, "__orchestration_jid__", "20261122010203040506",
				"__pub_user", "ann", "k", "v"),
			"{'fun': 'runner.x.f', 'user': 'ann', 'return': [1, {'k': 'v'}]}",
			"salt/run/20261122010203040506/args {'type': 'runner', 'name': 'x.f', 'args': [1], 'kwargs': {'k': 'v'}}"},
		{"wheel", []any{"x.f", "a"}, data.NewMap("__orchestration_jid__", "20261122010203040506", "k", "v"),
			"{'fun': 'wheel.x.f', 'user': 'UNKNOWN', 'return': ['a', {'k': 'v'}]}",
			"salt/run/20261122010203040506/args {'type': 'wheel', 'name': 'x.f', 'args': {'k': 'v'}}"},
		{"runner", []any{"x.f"}, nil, "[{}]", ""},
	} {
		told = nil
		got, err := r.Invoke(t.Context(), "saltutil."+tt.fun, tt.args, tt.kwargs)
		if err != nil || data.Repr(got) != tt.want {
			t.Errorf("%s gives %s, %v, want %s", tt.fun, data.Repr(got), err, tt.want)
		}
		if events := strings.Join(told, "\n"); events != tt.told {
			t.Errorf("%s tells %s, want %s", tt.fun, events, tt.told)
		}
	}
}
