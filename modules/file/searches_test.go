//go:build unix

package file

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/paths"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

// withCmd has the module cmd, too, which runs programs.
func withCmd(t *testing.T, opts ...any) *loader.Registry {
	t.Helper()
	env := &loader.Env{Opts: data.NewMap(opts...)}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin(render.Brought{}), cmd.Plugin(render.Brought{})})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// testdata/searches.json is what Salt 3006.0 answered about the same tree, as root.
func TestSearches(t *testing.T) {
	need.Have(t, "root", os.Geteuid() == 0)
	need.Have(t, "the program sed", installed("sed"))
	calls.Check(t, "testdata/searches.json", withCmd(t).Invoke, "OUT", tree(t))
}

func invoke(t *testing.T, r *loader.Registry, fun string, args []any, kwargs ...any) any {
	t.Helper()
	v, err := r.Invoke(t.Context(), "file."+fun, args, data.NewMap(kwargs...))
	if err != nil {
		t.Fatalf("file.%s %v: %v", fun, args, err)
	}
	return v
}

func lines(t *testing.T, path string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestFindDeletes(t *testing.T) {
	dir, r := tree(t), registry(t)
	for _, tt := range []struct {
		options []any
		want    []any
	}{
		{[]any{"delete", "f", "name", "*.txt"}, []any{"/a.txt"}},
		{[]any{"delete", "l"}, []any{"/broken", "/link"}}, // the file of the second is gone
		{[]any{"delete", "d", "name", "d"}, []any{"/d"}},
		{[]any{"delete", "p"}, []any{"/fifo"}},
		{[]any{"delete", "a", "mindepth", int64(1)},
			[]any{"/.dot", "/bin", "/crlf", "/dlink", "/hard", "/u"}},
	} {
		for i := range tt.want {
			tt.want[i] = dir + tt.want[i].(string)
		}
		if got := invoke(t, r, "find", []any{dir}, tt.options...); !data.Equal(got, tt.want) {
			t.Errorf("%v removed %v, want %v", tt.options, got, tt.want)
		}
		if got := invoke(t, r, "find", []any{dir}, tt.options...); !data.Equal(got, []any{}) {
			t.Errorf("%v removed %v the second time", tt.options, got)
		}
		for _, path := range tt.want {
			if _, err := os.Lstat(path.(string)); err == nil {
				t.Errorf("%v: %s is still there", tt.options, path)
			}
		}
	}
}

// Neither pipes nor devices are read.
func TestSearchesWaitForNothing(t *testing.T) {
	fifo, r := filepath.Join(tree(t), "fifo"), withCmd(t)
	for _, path := range []string{fifo, "/dev/zero"} {
		for fun, more := range map[string][]any{"grep": {"x"}, "sed_contains": {"x"},
			"contains_regex": {"x"}, "contains_glob": {"*"}} {
			for range 2 {
				if v, err := r.Invoke(t.Context(), "file."+fun, append([]any{path}, more...),
					nil); loader.KindOf(err) != loader.KindExecution {
					t.Errorf("file.%s %s = %v, %v", fun, path, v, err)
				}
			}
		}
		if got := invoke(t, r, "find", []any{path}, "grep", "x"); !data.Equal(got, []any{}) {
			t.Errorf("file.find %s = %v", path, got)
		}
	}
}

func TestSed(t *testing.T) {
	need.Have(t, "the program sed", installed("sed"))
	path, r := filepath.Join(tree(t), "a.txt"), withCmd(t)
	for range 2 {
		v := invoke(t, r, "sed", []any{path, "t(w)o/?", `2\1/`}, "limit", "words").(*data.Map)
		if v.Value("retcode") != int64(0) || lines(t, path) != "one\n2w/ words\n" {
			t.Errorf("%v: %q", data.Repr(v), lines(t, path))
		}
	}
	invoke(t, r, "sed", []any{path, "o.e", "x"}, "escape_all", true, "backup", "")
	invoke(t, r, "sed", []any{path, "one", "'1'"}, "limit", "words", "negate_match", true, "flags", "")
	if got := lines(t, path); got != "'\"'\"'1'\"'\"'\n2w/ words\n" { // so Salt quotes, too
		t.Errorf("%q", got)
	}
}

func TestPsed(t *testing.T) {
	path, r := filepath.Join(tree(t), "a.txt"), registry(t)
	for range 2 {
		if v := invoke(t, r, "psed", []any{path, `^(\w)(?!n)`, `<\1`}, "backup", ".old"); v != nil {
			t.Errorf("it returned %v", v)
		}
		if got := lines(t, path); got != "one\n<two words\n" {
			t.Errorf("%q", got)
		}
	}
	if got := lines(t, path+".old"); got != "one\n<two words\n" {
		t.Errorf("the copy is %q", got)
	}
	invoke(t, r, "psed", []any{path, "[OW]", "0"}, "flags", "I", "multi", true)
	if got := lines(t, path); got != "0ne\n<t0o words\n" {
		t.Errorf("%q", got)
	}
	if _, err := r.Invoke(t.Context(), "file.psed", []any{path, "a", "b"},
		data.NewMap("limit", "x")); calls.Text(err) != "TypeError: must be str or None, not re.Pattern" {
		t.Errorf("limit: %v", err)
	}
}

func TestGrep(t *testing.T) {
	need.Have(t, "the program grep", installed("grep"))
	dir, r := tree(t), withCmd(t)
	for _, tt := range []struct {
		args []any
		code int64
		out  string
	}{
		{[]any{dir + "/a.txt", "TWO", "-i"}, 0, "two words"},
		{[]any{dir + "/*.txt", "one", "-H"}, 0, dir + "/a.txt:one"},
		{[]any{dir + "/a.txt", "three"}, 1, ""},
		{[]any{dir + "/nope", "three"}, 2, ""},
	} {
		for range 2 {
			v := invoke(t, r, "grep", tt.args).(*data.Map)
			if v.Value("retcode") != tt.code || v.Value("stdout") != tt.out {
				t.Errorf("%v: %s", tt.args, data.Repr(v))
			}
		}
	}
}

func TestPatch(t *testing.T) {
	need.Have(t, "the program patch", installed("patch"))
	dir, r := tree(t), withCmd(t)
	diff := filepath.Join(dir, "p")
	if err := os.WriteFile(diff, []byte("--- a.txt\n+++ a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two words\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{dir + "/a.txt", dir} {
		if v := invoke(t, r, "patch", []any{target, diff},
			"dry_run", true).(*data.Map); v.Value("retcode") != int64(0) ||
			lines(t, dir+"/a.txt") != "one\ntwo words\n" {
			t.Errorf("dry run: %s", data.Repr(v))
		}
	}
	for _, want := range []int64{0, 1} { // the second time there is nothing that it fits
		if v := invoke(t, r, "patch", []any{dir, diff}).(*data.Map); v.Value("retcode") != want ||
			lines(t, dir+"/a.txt") != "1\ntwo words\n" {
			t.Errorf("%s", data.Repr(v))
		}
	}
	if v := invoke(t, r, "patch", []any{dir + "/a.txt", diff},
		"options", []any{"-R"}).(*data.Map); v.Value("retcode") != int64(0) ||
		lines(t, dir+"/a.txt") != "one\ntwo words\n" {
		t.Errorf("%s", data.Repr(v))
	}
	if _, err := os.Stat(dir + "/a.txt.rej"); err == nil {
		t.Error("rejects lie beside the file")
	}
}

func TestRmdir(t *testing.T) {
	dir, r := tree(t), registry(t)
	for _, name := range []string{"e/f/g", "e/h"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := invoke(t, r, "rmdir", []any{dir + "/e"}); got != false {
		t.Errorf("a full folder: %v", got)
	}
	want := data.NewMap("deleted", []any{dir + "/e/f/g", dir + "/e/f", dir + "/e/h", dir + "/e"},
		"errors", []any{}, "result", true)
	if got := invoke(t, r, "rmdir", []any{dir + "/e"}, "recurse", true,
		"verbose", true); !data.Equal(got, want) {
		t.Errorf("got %s", data.Repr(got))
	}
	if v, err := r.Invoke(t.Context(), "file.rmdir", []any{dir + "/e"},
		nil); loader.KindOf(err) != loader.KindInvocation {
		t.Errorf("the second time: %v, %v", v, err)
	}
}

func TestNodes(t *testing.T) {
	dir, r := tree(t), registry(t)
	path := dir + "/n/pipe"
	made := data.NewMap("name", path, "changes", data.NewMap("new", "Fifo pipe "+path+" created."),
		"comment", "", "result", true)
	if got := invoke(t, r, "mknod", []any{path, "p"}, "mode", "0604"); !data.Equal(got, made) {
		t.Errorf("got %s", data.Repr(got))
	}
	again := data.NewMap("name", path, "changes", data.NewMap(), "comment", "File "+path+
		" exists and cannot be overwritten", "result", false)
	if got := invoke(t, r, "mknod_fifo", []any{path}, "mode", "0604"); !data.Equal(got, again) {
		t.Errorf("the second time: %s", data.Repr(got))
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeNamedPipe|0o604 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := r.Invoke(t.Context(), "file.mknod", []any{path, "x"},
		nil); calls.Text(err) != "salt.exceptions.SaltInvocationError: "+
		"Node type unavailable: 'x'. Available node types are character ('c'), block ('b'), and "+
		"pipe ('p')." {
		t.Errorf("%v", err)
	}
}

func TestDevices(t *testing.T) {
	dir, r := tree(t), registry(t)
	need.Have(t, "root that may make devices", mknod(dir+"/try", unix.S_IFCHR, 1, 3) == nil)
	for kind, fun := range map[string]string{"Character": "mknod_chrdev", "Block": "mknod_blkdev"} {
		path := dir + "/" + fun
		made := data.NewMap("name", path, "changes",
			data.NewMap("new", kind+" device "+path+" created."), "comment", "", "result", true)
		if got := invoke(t, r, fun, []any{path, int64(180), int64(31)}); !data.Equal(got, made) {
			t.Errorf("got %s", data.Repr(got))
		}
		if got := invoke(t, r, fun, []any{path, int64(180),
			int64(31)}).(*data.Map); got.Value("result") != false {
			t.Errorf("the second time: %s", data.Repr(got))
		}
		if got := invoke(t, r, "get_devmm", []any{path}); !data.Equal(got,
			data.Tuple{int64(180), int64(31)}) {
			t.Errorf("numbers are %v", got)
		}
	}
}

func TestStatvfs(t *testing.T) {
	need.Have(t, "Linux", paths.Exists("/proc/self"))
	for range 2 {
		v := invoke(t, registry(t), "statvfs", []any{"/proc"}).(*data.Map)
		if v.Len() != 10 || v.Value("f_namemax") != int64(255) ||
			v.Value("f_bsize") != int64(os.Getpagesize()) || v.Value("f_blocks") != int64(0) {
			t.Errorf("%s", data.Repr(v))
		}
	}
}

func TestOpenFiles(t *testing.T) {
	need.Have(t, "Linux", paths.Exists("/proc/self"))
	path, r := filepath.Join(tree(t), "a.txt"), registry(t)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pid := int64(os.Getpid())
	for range 2 {
		files := invoke(t, r, "open_files", nil).(*data.Map)
		if pids, _ := files.Value(path).([]any); !slices.Equal(pids, []any{pid}) {
			t.Errorf("%s is open in %v, want %d", path, pids, pid)
		}
		names, _ := invoke(t, r, "open_files", nil, "by_pid", true).(*data.Map).Value(pid).([]any)
		if !slices.Contains(names, any(path)) {
			t.Errorf("%d has open %v", pid, names)
		}
	}
}

func TestListBackupsDir(t *testing.T) {
	dir := tree(t)
	r := withCmd(t, "cachedir", dir)
	kept := filepath.Join(dir, "file_backup", "etc")
	if err := os.MkdirAll(kept, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a_Fri_Jul_29_17:01:26_123456_2016",
		"a_Sat_Jul_30_17:01:26_123456_2016", "b_Fri_Jul_29_17:01:26_123456_2016", "c"} {
		if err := os.WriteFile(filepath.Join(kept, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	one := func(name, at string) *data.Map {
		return data.NewMap("Backup Time", at, "Size", int64(1), "Location", filepath.Join(kept, name))
	}
	first := one("a_Sat_Jul_30_17:01:26_123456_2016", "Sat Jul 30 2016 17:01:26.123456")
	second := one("a_Fri_Jul_29_17:01:26_123456_2016", "Fri Jul 29 2016 17:01:26.123456")
	b := data.NewMap(int64(0), one("b_Fri_Jul_29_17:01:26_123456_2016", "Fri Jul 29 2016 17:01:26.123456"))
	for limit, a := range map[any]*data.Map{nil: data.NewMap(int64(0), first, int64(1), second),
		int64(1): data.NewMap(int64(0), first)} {
		want := data.NewMap("a", a, "b", b, "c", data.NewMap())
		for range 2 {
			if got := invoke(t, r, "list_backups_dir", []any{"/etc/"},
				"limit", limit); !data.Equal(got, want) {
				t.Errorf("limit %v: %s", limit, data.Repr(got))
			}
		}
	}
}

// Only systems with SELinux have restorecon; a stub that records its calls replaces it.
func TestRestorecon(t *testing.T) {
	dir := tree(t)
	script := "#!/bin/sh\necho \"$@\" >> " + dir + "/called\n[ \"$2\" != /nope ]\n"
	if err := os.WriteFile(filepath.Join(dir, "restorecon"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	r := withCmd(t)
	for range 2 {
		if v := invoke(t, r, "restorecon", []any{"/x"}); v != true {
			t.Errorf("got %v", v)
		}
		if v := invoke(t, r, "restorecon", []any{"/nope"}, "recursive", true); v != false {
			t.Errorf("got %v for what is not there", v)
		}
	}
	if got := lines(t, dir+"/called"); got != strings.Repeat("-F /x\n-FR /nope\n", 2) {
		t.Errorf("called with %q", got)
	}
}

// FuzzFind checks that any options get an answer, and that every path found exists.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"1w2d", "-1.5k", "*.txt", "[a", "f,l", "root", "path,size"} {
		f.Add(s)
	}
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o644); err != nil {
		f.Fatal(err)
	}
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin(render.Brought{})})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for _, key := range []string{"name", "regex", "type", "size", "mtime", "grep", "group", "print"} {
			v, err := r.Invoke(t.Context(), "file.find", []any{dir}, data.NewMap(key, value))
			list, _ := v.([]any)
			if err == nil && len(list) > 2 {
				t.Errorf("%s=%q: %v", key, value, v)
			}
		}
	})
}
