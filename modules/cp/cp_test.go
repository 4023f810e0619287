package cp

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileclient/web"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// minion is the environment of the module in a test: local files, a web server that serves the same
// files, and a master that receives pushed files.
type minion struct {
	*loader.Registry
	dir, out, cache, srv string
	web                  *httptest.Server
	pushed               map[string]string
	refuse               bool
}

func newMinion(t *testing.T) *minion {
	t.Helper()
	dir := t.TempDir()
	m := &minion{dir: dir, out: filepath.Join(dir, "out"), cache: filepath.Join(dir, "cache"),
		srv: filepath.Join(dir, "srv"), pushed: map[string]string{}}
	for name, body := range map[string]string{"a b/c d": "sp\n",
		"dir/sub/deep/big.bin": strings.Repeat("0123456789", 300_000), "dir/sub/x": "x", "dir/zero": "",
		"hello.txt": "hello\n", "st/init.sls": "{}\n", "top.sls": "{}\n", "what?x=1": "q\n",
		"zeros": strings.Repeat("0123456789", 500_000), "../dev/only": "dev\n"} {
		write(t, filepath.Join(m.srv, name), body)
	}
	if err := errors.Join(os.Symlink("hello.txt", filepath.Join(m.srv, "link")),
		os.Mkdir(filepath.Join(m.srv, "dir/empty"), 0o755), os.Mkdir(m.out, 0o755)); err != nil {
		t.Fatal(err)
	}
	m.web = httptest.NewServer(http.FileServer(http.Dir(m.srv)))
	t.Cleanup(m.web.Close)
	env := &loader.Env{
		Opts: data.NewMap("cachedir", m.cache, "id", "web1", "hash_type", "sha256", "file_client",
			"local", "fileserver_backend", []any{"roots"}, "file_roots",
			data.NewMap("base", []any{m.srv}, "dev", []any{filepath.Join(dir, "dev")}),
			"file_buffer_size", int64(262144), "saltenv", nil),
		Host: loader.Host{Masters: master{receive: m.receive}},
	}
	var err error
	m.Registry, err = loader.NewRegistry(env,
		[]loader.Plugin{Plugin(render.Brought{Renderers: stdrender.Renderers(),
			Files: fileclient.Brought{Fetchers: web.Fetchers,
				Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})}})})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// master receives pushed files.
type master struct {
	loader.Masters // everything else
	receive        func(ctx context.Context, load *data.Map) (any, error)
}

func (m master) Request(ctx context.Context, load *data.Map) (any, error) {
	return m.receive(ctx, load)
}

func write(t *testing.T, file, body string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
		os.WriteFile(file, []byte(body), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// receive implements the master's _file_recv.
func (m *minion) receive(_ context.Context, load *data.Map) (any, error) {
	if m.refuse {
		return false, nil
	}
	var parts []string
	for _, p := range load.Value("path").([]any) {
		parts = append(parts, p.(string))
	}
	name := strings.Join(parts, "/")
	if load.Value("loc") == int64(0) {
		m.pushed[name] = ""
	}
	m.pushed[name] += string(load.Value("data").([]byte))
	return true, nil
}

// call runs a function with arguments in command-line syntax.
func (m *minion) call(t *testing.T, argv ...string) loader.Result {
	t.Helper()
	args := make([]any, len(argv)-1)
	for i, a := range argv[1:] {
		args[i] = loader.YAMLArg(a)
		if name, value, ok := loader.ParseKwarg(a); ok {
			args[i] = data.NewMap("__kwarg__", true, name, loader.YAMLArg(value))
		}
	}
	return m.Call(t.Context(), argv[0], args, loader.CallOptions{})
}

// TestCalls compares with the results of Salt 3006.0. testdata/calls.json has command lines of
// salt-call, run one after the other with one cache. Each has its result and return code, or the
// last line of standard error.
func TestCalls(t *testing.T) {
	src, err := os.ReadFile("testdata/calls.json")
	if err != nil {
		t.Fatal(err)
	}
	m := newMinion(t)
	host := strings.TrimPrefix(m.web.URL, "http://")
	names := strings.NewReplacer("WEBUSER", "http://u:p@"+host, "WEB", m.web.URL,
		"PORTED", strings.ReplaceAll(host, ":", ""), "HOST", host, "OUT", m.out, "CACHE", m.cache)
	v, err := vectors.Decode([]byte(names.Replace(string(src))))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range v.([]any) {
		row := c.(*data.Map)
		var argv []string
		for _, a := range row.Value("argv").([]any) {
			argv = append(argv, a.(string))
		}
		got := m.call(t, argv...)
		if want, fails := row.Get("error"); fails {
			if text := lastLine(argv[0], got.Err); text != want {
				t.Errorf("%q = %v, error %q, want %q", argv, got.Value, text, want)
			}
			continue
		}
		if want := row.Value("value"); got.Err != nil || !data.Equal(inOrder(got.Value), inOrder(want)) {
			t.Errorf("%q = %s (%v), want %s", argv, data.Repr(got.Value), got.Err, data.Repr(want))
		}
		if want, _ := row.Value("retcode").(int64); got.Retcode != int(want) {
			t.Errorf("%q: return code %d, want %d", argv, got.Retcode, want)
		}
	}
}

// inOrder sorts a list of strings, because Salt's order is arbitrary.
func inOrder(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(data.Repr(a), data.Repr(b)) })
	return list
}

// lastLine returns the last line that salt-call prints for an error.
func lastLine(fun string, err error) string {
	var e *loader.Error
	switch {
	case !errors.As(err, &e):
		return "no error of a function"
	case e.Kind == loader.KindExecution:
		return "Error running '" + fun + "': " + e.Text
	case e.Kind == loader.KindInvocation:
		return e.Text
	}
	return e.Class + ": " + e.Text
}

// TestRepeatedCalls repeats functions that write: the result is the same, and nothing changes.
func TestRepeatedCalls(t *testing.T) {
	m := newMinion(t)
	for _, argv := range [][]string{
		{"cp.get_file", "salt://zeros", m.out + "/z", "gzip=3"},
		{"cp.get_dir", "salt://dir", m.out},
		{"cp.get_url", "salt://hello.txt", m.out + "/u/", "makedirs=True"},
		{"cp.cache_file", "salt://hello.txt"},
		{"cp.cache_files", "salt://hello.txt,salt://top.sls"},
		{"cp.cache_dir", "salt://dir", "include_empty=True"},
		{"cp.cache_master"},
		{"cp.cache_local_file", m.srv + "/hello.txt"},
		{"cp.recv", "{/x/a: hi}", m.out + "/r"},
		{"cp.recv_chunked", m.out + "/deep/c", "aGVsbG8h", "compressed=False", "mode=384"},
		{"cp.push", m.srv + "/hello.txt"},
	} {
		first := m.call(t, argv...)
		before := snapshot(t, m.dir)
		second := m.call(t, argv...)
		if first.Err != nil || !data.Equal(first.Value, second.Value) || !data.Truth(first.Value) {
			t.Errorf("%q = %s (%v), then %s", argv, data.Repr(first.Value), first.Err,
				data.Repr(second.Value))
		}
		if after := snapshot(t, m.dir); !slices.Equal(before, after) {
			t.Errorf("%q changed something when it ran again:\n%q\n%q", argv, before, after)
		}
	}
}

// snapshot lists everything below a directory, with modes and contents.
func snapshot(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := path + " " + info.Mode().String()
		if info.Mode().IsRegular() {
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += string(body[:min(len(body), 100)])
		}
		all = append(all, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPush(t *testing.T) {
	m := newMinion(t)
	link := filepath.Join(m.out, "link")
	if err := os.Symlink(filepath.Join(m.srv, "zeros"), link); err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return strings.TrimPrefix(path, "/") }
	for _, tt := range []struct {
		argv []string
		want any
		name string // of the file on the master
		size int
	}{
		{[]string{"cp.push", link}, true, at(m.srv + "/zeros"), 5_000_000},
		{[]string{"cp.push", link, "keep_symlinks=True"}, true, at(link), 5_000_000},
		{[]string{"cp.push", m.srv + "/dir/zero", "upload_path=/new//place/"}, true, "new/place", 0},
		{[]string{"cp.push", m.srv + "/hello.txt", "upload_path=../x"}, false, "", 0},
		{[]string{"cp.push", m.srv + "/../dev/only"}, false, "", 0},
		{[]string{"cp.push", m.srv}, false, "", 0},
		{[]string{"cp.push_dir", m.srv + "/dir/", "upload_path=/up"}, true, "up/sub/x", 1},
		{[]string{"cp.push_dir", m.srv, "glob=*.sls"}, true, at(m.srv + "/st/init.sls"), 3},
		{[]string{"cp.push_dir", m.srv, "glob=*.none"}, false, "", 0},
		{[]string{"cp.push_dir", m.srv + "/hello.txt", "upload_path=one"}, true, "one", 6},
	} {
		clear(m.pushed)
		if got := m.call(t, tt.argv...); got.Err != nil || got.Value != tt.want {
			t.Errorf("%q = %v, %v", tt.argv, got.Value, got.Err)
		}
		if body, ok := m.pushed[tt.name]; (tt.name != "") != ok || len(body) != tt.size {
			t.Errorf("%q: the master has %d bytes of %q among %d files", tt.argv, len(body),
				tt.name, len(m.pushed))
		}
	}
	gone := filepath.Join(m.out, "gone")
	write(t, gone, "x")
	m.refuse = true
	if got := m.call(t, "cp.push", gone, "remove_source=True"); got.Value != false {
		t.Errorf("a push that is refused = %v", got.Value)
	}
	m.refuse = false
	if got := m.call(t, "cp.push", gone, "remove_source=True"); got.Value != true ||
		m.pushed[at(gone)] != "x" {
		t.Errorf("= %v, the master has %q", got.Value, m.pushed[at(gone)])
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("the source is still there")
	}
}

func TestRecvChunked(t *testing.T) {
	m := newMinion(t)
	dest := filepath.Join(m.out, "f")
	for i, piece := range []string{"hello ", "world"} {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		if _, err := w.Write([]byte(piece)); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		coded := base64.StdEncoding.AppendEncode(nil, packed.Bytes())
		got := m.Call(t.Context(), "cp.recv_chunked", []any{dest, coded, i > 0, true, int64(0o640)},
			loader.CallOptions{})
		if got.Value != true || got.Retcode != 0 {
			t.Fatalf("piece %d: %v, %v", i, got.Value, got.Err)
		}
	}
	body, err := os.ReadFile(dest)
	info, statErr := os.Stat(dest)
	if err != nil || statErr != nil || string(body) != "hello world" || info.Mode() != 0o640 {
		t.Errorf("%q with mode %v, %v", body, info.Mode(), err)
	}
	if got := m.call(t, "cp.recv_chunked", "/proc/none/x",
		"aGVsbG8h"); got.Value != "[Errno 2] No such file or directory: '/proc/none'" || got.Retcode != 1 {
		t.Errorf("= %v, return code %d", got.Value, got.Retcode)
	}
}

func TestCacheFileOnceInAJob(t *testing.T) {
	m := newMinion(t)
	hits := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits++ }))
	defer s.Close()
	ctx := loader.WithContext(t.Context(), &loader.Context{})
	call := func() any {
		v, err := m.Invoke(ctx, "cp.cache_file", []any{s.URL + "/x"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := call()
	if call() != first || hits != 1 {
		t.Errorf("the server was asked %d times in a job", hits)
	}
	if err := os.Remove(first.(string)); err != nil {
		t.Fatal(err)
	}
	if call() != first || hits != 2 {
		t.Errorf("a file that is gone: the server was asked %d times", hits)
	}
}

func TestWithoutAFileServer(t *testing.T) {
	for name, env := range map[string]*loader.Env{
		"no master":       {Opts: data.NewMap()},
		"a small program": {Opts: data.NewMap("file_client", "local")},
	} {
		r, err := loader.NewRegistry(env, []loader.Plugin{Plugin(render.Brought{})})
		if err != nil {
			t.Fatal(err)
		}
		got := r.Call(t.Context(), "cp.list_master", nil, loader.CallOptions{})
		if got.Kind() != loader.KindExecution || !errors.Is(got.Err, fileclient.ErrNoMaster) &&
			!errors.Is(got.Err, fileclient.ErrNoLocal) {
			t.Errorf("%s: %v", name, got.Err)
		}
	}
}

// TestUnsupportedSchemes checks that unsupported schemes return a readable error without
// the secrets in the URL.
func TestUnsupportedSchemes(t *testing.T) {
	m := newMinion(t)
	for _, fun := range []string{"cp.get_url", "cp.cache_file", "cp.get_file_str"} {
		for _, url := range []string{"s3://key:hunter2@bucket/x", "swift://container/x"} {
			got := m.call(t, fun, url)
			if fun == "cp.get_url" {
				got = m.call(t, fun, url, m.out+"/x")
			}
			text := data.Str(got.Value)
			if !strings.HasPrefix(text, "ERROR: cannot fetch "+url[:2]) ||
				!strings.Contains(text, "only salt://") || strings.Contains(text, "hunter2") ||
				got.Retcode == 0 {
				t.Errorf("%s %s: %s, code %d", fun, url, text, got.Retcode)
			}
		}
	}
}
