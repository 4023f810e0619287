//go:build unix

package file_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states/file"
)

// deviations lists the cases whose results deliberately differ from Salt 3006.0, with the reason.
// The difference itself is not compared, but the second run must change nothing.
func deviations() map[string]string {
	return map[string]string{
		"encoding error":             "Salt leaves an empty file behind",
		"selinux":                    "Salt's test mode fails where there is no SELinux",
		"dir recurse owners":         "Salt gives the file of a link the mode of the link",
		"dir depth 0":                "Salt 3006.0 reaches files a directory deeper than max_depth; 3006.18 does not",
		"dir depth 1":                "the same",
		"dir children":               "Salt tells of a mode that it does not set, in each run",
		"rec clean links":            "Salt writes through links to files, which depends on the order in which it makes them",
		"rec links":                  "the same",
		"rec links force":            "the same",
		"rec links there":            "the same",
		"rec empty":                  "the order of directories in comments is Salt's own",
		"link other":                 "Salt 3006.0 refuses to change where a link leads; 3006.18 changes it",
		"link inherit":               "the same",
		"dir backup":                 "3006.18 says in test mode that the name would be given away",
		"dir backup force":           "the same",
		"source http hash":           "3006.18 fetches nothing for a file that has the hash, and says that of its permissions alone",
		"source http hash kind":      "3006.18 fetches nothing for a file that has the hash, and says that of its permissions alone",
		"source http hash upper":     "3006.18 fetches nothing for a file that has the hash, and says that of its permissions alone",
		"source http hash md5":       "3006.18 fetches nothing for a file that has the hash, and says that of its permissions alone",
		"source http hash file":      "3006.18 fetches nothing for a file that has the hash, and says that of its permissions alone",
		"source http hash salt":      "3006.18 fetches nothing for a file that has the hash, and says that of its permissions alone",
		"source http hash local":     "3006.18 fetches nothing for a file that has the hash, and says that of its permissions alone",
		"source http hash name none": "3006.18 fetches nothing for a file that has the hash, and says that of its permissions alone",
		"line backup":                "the name of the copy has the time in it",
		"patch unfit":                "Salt shows the answer of the program in the form of salt-call's --out, which was JSON",
		"patch rejects":              "the same; and Salt's test mode writes the rejects",
		"patch no source":            "Salt's test mode says that a patch that is not there would be applied",
		"prepend header":             "Salt's test mode does not look at the first lines",
		"prepend header there":       "the same",
		"ser plist":                  "there is no such serializer here",
		"ser yamlex":                 "there is no such serializer here",
	}
}

// Salt 3006.0 ran each state of testdata/salt.json with salt-call as root: in test mode, twice for
// real, and in test mode again. Results and files must be the same here, and test mode must write
// nothing.
func TestAsSalt(t *testing.T) {
	need.Have(t, "root that may make devices", os.Geteuid() == 0 &&
		unix.Mknod(filepath.Join(t.TempDir(), "try"), unix.S_IFCHR, int(unix.Mkdev(1, 3))) == nil)
	for _, program := range []string{"patch", "grep", "sh"} {
		_, err := exec.LookPath(program)
		need.Have(t, "the program "+program, err == nil)
	}
	src, err := os.ReadFile("testdata/salt.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	all := v.(*data.Map)
	for _, c := range all.Value("cases").([]any) {
		c := c.(*data.Map)
		t.Run(c.Text("case"), func(t *testing.T) {
			if c.Text("case") == "attrs" {
				need.Have(t, "a file system with attributes, and the programs for them", hasAttributes(t))
			}
			newTwin(t, all.Value("srv").([]any)).replay(c)
		})
	}
}

// hasAttributes reports whether the file system supports the attribute no atime.
func hasAttributes(t *testing.T) bool {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return exec.Command("chattr", "+A", path).Run() == nil && exec.Command("lsattr", path).Run() == nil
}

// A twin is the host that Salt ran on: files to serve, pillar, grains and a directory for one case.
type twin struct {
	*host
	web string
}

func newTwin(t *testing.T, served []any) *twin {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	srv := filepath.Join(dir, "srv")
	opts := data.NewMap("id", "web1", "file_client", "local", "local", true, "user", "root",
		"cachedir", filepath.Join(dir, "cache"), "conf_file",
		filepath.Join(dir, "minion"), "fileserver_backend", []any{"roots"}, "file_roots",
		data.NewMap("base", []any{srv}), "hash_type", "sha256",
		"file_buffer_size", int64(262144), "test", false, "root_dir", dir, "extension_modules",
		filepath.Join(dir, "ext"))
	pillar := data.NewMap("who", "pillar", "deep", data.NewMap("key", "value"), "b64", "Z2V0IHNhbHRlZA==")
	env := &loader.Env{Opts: opts, Pillar: func() *data.Map { return pillar },
		Grains: func() *data.Map { return data.NewMap("colour", "blue") }}
	funcs, err := loader.NewRegistry(env, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	states, err := loader.NewRegistry(funcs.Env(), []loader.Plugin{file.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	w := &twin{host: &host{t: t, dir: dir, states: states}}
	w.build("srv", served)
	server := httptest.NewServer(http.FileServer(http.Dir(srv)))
	t.Cleanup(server.Close)
	w.web = server.URL
	return w
}

// build creates files in a directory. Each has kind, path, content or target, and mode; for kind o
// the content is the age in days.
func (w *twin) build(under string, files []any) {
	w.t.Helper()
	if err := os.MkdirAll(w.at(under), 0o755); err != nil {
		w.t.Fatal(err)
	}
	for _, f := range files {
		f := f.([]any)
		path, body, mode := filepath.Join(w.at(under), f[1].(string)), f[2].(string), f[3].(string)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		var bits uint32
		if f[0] != "o" && mode != "" {
			_, _ = fmt.Sscanf(mode, "%o", &bits)
		}
		switch f[0] {
		case "d":
			err = cmp.Or(err, os.MkdirAll(path, 0o755), os.Chmod(path, os.FileMode(bits)))
		case "f":
			err = cmp.Or(err, os.WriteFile(path, []byte(body), 0o644), os.Chmod(path, os.FileMode(bits)))
		case "l":
			err = cmp.Or(err, os.Symlink(strings.ReplaceAll(body, "DIR", w.at(under)), path))
		case "p":
			err = cmp.Or(err, unix.Mkfifo(path, 0o644), os.Chmod(path, os.FileMode(bits)))
		case "h":
			err = cmp.Or(err, os.Link(filepath.Join(w.at(under), body), path))
		case "o":
			days := 0
			_, _ = fmt.Sscanf(mode, "%d", &days)
			then := time.Now().Add(-time.Duration(days) * 24 * time.Hour)
			err = cmp.Or(err, os.WriteFile(path, []byte(body), 0o644), os.Chtimes(path, then, then))
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// substituted replaces the placeholders for directories and the server in a value or, with back,
// does the reverse.
func (w *twin) substituted(v any, back bool) any {
	pairs := []string{"CACHE", w.at("cache"), "DIR", w.at("c"), "HTTP", w.web}
	if back {
		pairs = []string{w.at("cache"), "CACHE", w.at("c"), "DIR", w.web,
			"HTTP", strings.TrimPrefix(w.web, "http://"), "127.0.0.1:24590",
			strings.ReplaceAll(strings.TrimPrefix(w.web, "http://"), ":", ""), "127.0.0.124590"}
	}
	return replaced(v, strings.NewReplacer(pairs...))
}

func replaced(v any, r *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return r.Replace(v)
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = replaced(x, r)
		}
		return list
	case data.Tuple:
		return replaced([]any(v), r)
	case []byte:
		return r.Replace(string(v))
	case *data.Map:
		m := data.NewMap()
		for key, x := range v.All() {
			if key == "pid" {
				x = int64(0)
			}
			m.Set(r.Replace(data.Str(key)), replaced(x, r))
		}
		return m
	}
	return v
}

// once runs the state, and returns its result in Salt's form.
func (w *twin) once(c *data.Map, test bool) *data.Map {
	name, fun, _ := strings.Cut(c.Text("fun"), ".")
	args := w.substituted(c.Value("args"), false).(*data.Map)
	low := data.NewMap("state", name, "fun", fun, "__id__", "c", "__sls__", "all", "__env__", "base")
	for key, v := range args.All() {
		low.Set(key, v)
	}
	call := &change.Call{Test: test, Low: low, SaltEnv: "base", Run: "r",
		Ran: func(string) *data.Map { return nil }, Chunks: func() []*data.Map { return nil }}
	ctx := loader.WithContext(change.WithCall(w.t.Context(), call), loader.ContextOf(w.t.Context()))
	v, err := w.states.Invoke(ctx, c.Text("fun"), nil, args)
	if err != nil {
		return data.NewMap("name", args.Value("name"), "result", false, "comment",
			"An exception occurred in this state: "+calls.Text(err), "changes", data.NewMap())
	}
	ret := data.NewMap()
	for _, key := range []string{"name", "result", "comment", "changes", "warnings"} {
		if v, ok := v.(*data.Map).Get(key); ok {
			ret.Set(key, v)
		}
	}
	return ret
}

var (
	pids  = regexp.MustCompile(`pid:(\s+)\d+`)
	temps = regexp.MustCompile(`/[^ ]*/__salt\.tmp\.[^ ]+`)
)

// plain formats a result for comparison: without process IDs, with the lines of the comment and the
// removed paths sorted, because their order in Salt is random.
func plain(ret *data.Map) string {
	ret = ret.Clone()
	if s, ok := ret.Value("comment").(string); ok {
		// servers use different texts
		s = strings.ReplaceAll(s, "Not Found reading", "File not found reading")
		lines := strings.Split(pids.ReplaceAllString(s, "pid:${1}0"), "\n")
		slices.Sort(lines)
		ret.Set("comment", strings.Trim(strings.Join(lines, "\n"), "\n"))
	}
	if changes, ok := ret.Value("changes").(*data.Map); ok {
		changes = changes.Clone()
		if s, ok := changes.Value("stdout").(string); ok {
			changes.Set("stdout", temps.ReplaceAllString(s, "TEMPORARY"))
		}
		if ret.Value("result") == true {
			withoutFolders(changes)
		}
		if list, ok := changes.Value("removed").([]any); ok {
			list = slices.Clone(list)
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(data.Str(a), data.Str(b)) })
			changes.Set("removed", list)
		}
		ret.Set("changes", changes)
	}
	ret.Set("name", "")
	return sortedJSON(ret)
}

// withoutFolders removes the subdirectories created by a recursion from the changes. Salt only
// reports those that it reaches before their files, which is random.
func withoutFolders(changes *data.Map) {
	for _, key := range changes.Keys() {
		if inner, ok := changes.Value(key).(*data.Map); ok && inner.Has(key) {
			changes.Delete(key)
		}
	}
}

// sortedJSON formats a value with sorted keys.
func sortedJSON(v any) string {
	switch v := v.(type) {
	case *data.Map:
		var parts []string
		for key, x := range v.All() {
			parts = append(parts, fmt.Sprintf("%q: %s", data.Str(key), sortedJSON(x)))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, x := range v {
			parts = append(parts, sortedJSON(x))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (w *twin) replay(c *data.Map) {
	w.build("c", c.Value("files").([]any))
	_, differs := deviations()[c.Text("case")]
	before := w.entries()
	for i, want := range c.Value("runs").([]any) {
		test := i == 0 || i == 3
		got := plain(w.substituted(w.once(c, test), true).(*data.Map))
		if want == nil {
			want = data.NewMap() // Salt also fetches in test mode
			differs = true
		} else {
			_, differs = deviations()[c.Text("case")]
		}
		want := plain(replaced(want, strings.NewReplacer()).(*data.Map))
		if got != want && !differs {
			w.t.Errorf("run %d, test=%v\n got %s\nwant %s", i, test, got, want)
		}
		if i == 0 && w.entries() != before {
			w.t.Errorf("test mode wrote")
		}
	}
	if got, want := w.entries(), sortedJSON(c.Value("tree")); got != want && !differs {
		w.t.Errorf("files\n got %s\nwant %s", got, want)
	}
}

// entries lists the directory of the case in the same form as for Salt.
func (w *twin) entries() string {
	list := []any{}
	root := w.at("c")
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		var st unix.Stat_t
		if path == root || err != nil {
			return err
		}
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		kind := map[uint32]string{unix.S_IFDIR: "d", unix.S_IFREG: "f", unix.S_IFLNK: "l",
			unix.S_IFIFO: "p", unix.S_IFCHR: "c", unix.S_IFBLK: "b"}[st.Mode&unix.S_IFMT]
		body, mode := "", fmt.Sprintf("%04o", st.Mode&0o7777)
		switch kind {
		case "f":
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			body = escaped(b)
		case "l":
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			body, mode = strings.ReplaceAll(to, root, "DIR"), ""
		}
		list = append(list, []any{kind, rel, body, mode, int64(st.Uid), int64(st.Gid)})
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.([]any)[1].(string), b.([]any)[1].(string)) })
	return sortedJSON(list)
}

// escaped formats invalid bytes as \xff.
func escaped(b []byte) string {
	var s strings.Builder
	for i, r := range string(b) {
		if r == '\uFFFD' && b[i] != 0xef {
			fmt.Fprintf(&s, `\x%02x`, b[i])
			continue
		}
		s.WriteRune(r)
	}
	return s.String()
}

// A cached file is reported and removed once. In test mode it is kept.
func TestNotCached(t *testing.T) {
	w := newTwin(t, []any{[]any{"f", "a", "one\n", "0644"}})
	for _, url := range []string{"salt://a", w.web + "/a"} {
		path := w.at("cache/files/base/a")
		if strings.HasPrefix(url, "http") {
			path = w.at("cache/extrn_files/base/" +
				strings.ReplaceAll(strings.TrimPrefix(w.web, "http://"), ":", "") + "/a")
		}
		if ret := w.run("cached", true, "name", url,
			"skip_verify", true); ret.Value("result") != nil ||
			ret.Text("comment") != "File will be cached: "+url {
			t.Errorf("test mode: %s", data.Repr(ret))
		}
		w.run("cached", false, "name", url, "skip_verify", true)
		if ret := w.run("not_cached", true, "name", url); ret.Value("result") != nil ||
			ret.Value("changes").(*data.Map).Len() != 1 {
			t.Errorf("test mode: %s", data.Repr(ret))
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("after test mode: %v", err)
		}
		want := change.New(url, true, data.NewMap("deleted", true), path+" was deleted")
		if ret := w.run("not_cached", false, "name", url); !data.Equal(ret, want) {
			t.Errorf("got %s", data.Repr(ret))
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("it is still there: %v", err)
		}
		if ret := w.run("not_cached", false, "name", url); !data.Equal(ret,
			change.Unchanged(url, url+" is not cached")) {
			t.Errorf("the second time: %s", data.Repr(ret))
		}
	}
}

// mod_beacon calls the state beacon to watch the path of another state.
func TestModBeacon(t *testing.T) {
	w := newTwin(t, nil)
	for range 2 {
		ret := w.run("mod_beacon", false, "name", "/etc/motd", "sfun", "managed")
		if !data.Equal(ret, change.Unchanged("/etc/motd", "Not adding beacon.")) {
			t.Errorf("got %s", data.Repr(ret))
		}
		ret = w.run("mod_beacon", false, "name", "/etc/motd", "sfun", "touch", "beacon", true)
		if !data.Equal(ret, change.Failed("/etc/motd",
			"file.touch does not work with the beacon state function")) {
			t.Errorf("got %s", data.Repr(ret))
		}
	}
}

// Files whose path merely begins with the name of the directory are not in it.
func TestRecurseTakesNoNeighbours(t *testing.T) {
	w := newTwin(t, []any{[]any{"f", "app/a", "a\n", "0644"}, []any{"f", "app.sls", "", "0644"},
		[]any{"f", "apps/b", "b\n", "0644"}, []any{"l", "app.lnk", "app/a", ""}})
	for _, links := range []bool{false, true} {
		for range 2 {
			w.run("recurse", false, "name", w.at("c/d"), "source", "salt://app", "clean", true,
				"keep_symlinks", links, "include_empty", true)
			if got, _ := filepath.Glob(w.at("c/d/*")); !slices.Equal(got, []string{w.at("c/d/a")}) {
				t.Errorf("it made %v", got)
			}
		}
	}
}
