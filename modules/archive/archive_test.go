//go:build linux

package archive_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
)

// A host is a minion without a master, and a directory with a tree to pack.
type host struct {
	t     *testing.T
	dir   string
	funcs *loader.Registry
}

func newHost(t *testing.T, programs ...string) *host {
	t.Helper()
	for _, program := range programs {
		need.Program(t, program)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	opts := data.NewMap("id", "web1", "file_client", "local", "local", true,
		"cachedir", filepath.Join(dir, "cache"), "conf_file",
		filepath.Join(dir, "minion"), "fileserver_backend", []any{"roots"}, "file_roots",
		data.NewMap("base", []any{dir}), "hash_type", "sha256",
		"file_buffer_size", int64(262144), "test", false)
	funcs, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t, dir, funcs}
	h.write("src/top/a", "one\n", 0o640)
	h.write("src/top/sub/b", "two\n", 0o755)
	if err := os.Symlink("a", h.at("src/top/l")); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *host) at(name string) string { return filepath.Join(h.dir, name) }

func (h *host) write(name, body string, mode os.FileMode) {
	h.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(h.at(name)), 0o755),
		os.WriteFile(h.at(name), []byte(body), mode), os.Chmod(h.at(name), mode)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) call(fun string, args []any, words ...any) (any, error) {
	return h.funcs.Invoke(h.t.Context(), "archive."+fun, args, data.NewMap(words...))
}

// twice makes a call twice. Both results must be equal; it returns the result with the test's
// directory replaced by @.
func (h *host) twice(fun string, args []any, words ...any) string {
	h.t.Helper()
	free := regexp.MustCompile(`\d+ bytes free`) // other programs write to the disk too
	var output [2]string
	for i := range output {
		v, err := h.call(fun, args, words...)
		if output[i] = data.Repr(v); err != nil {
			output[i] = "error: " + err.Error()
		}
		output[i] = free.ReplaceAllString(strings.ReplaceAll(output[i], h.dir, "@"), "N bytes free")
	}
	if output[0] != output[1] {
		h.t.Errorf("%s says %s, and then %s", fun, output[0], output[1])
	}
	return output[0]
}

func (h *host) want(got, want string) {
	h.t.Helper()
	if got != want {
		h.t.Errorf("got  %s\nwant %s", got, want)
	}
}

// tree describes everything below a directory.
func (h *host) tree(name string) string {
	var b strings.Builder
	_ = filepath.WalkDir(h.at(name), func(path string, d os.DirEntry, err error) error {
		if err != nil || path == h.at(name) {
			return err
		}
		info, err := d.Info()
		body, _ := os.ReadFile(path)
		b.WriteString(strings.TrimPrefix(path, h.at(name)+"/") + " " + info.Mode().String() + " " +
			strings.TrimSpace(string(body)) + "\n")
		return err
	})
	return b.String()
}

const unpacked = "top drwxr-xr-x \ntop/a -rw-r----- one\ntop/l Lrwxrwxrwx one\ntop/sub drwxr-xr-x \ntop/sub/b -rwxr-xr-x two\n"

func TestTar(t *testing.T) {
	h := newHost(t, "tar", "gzip", "gunzip")
	h.want(h.twice("tar", []any{"cf", h.at("t.tar"), "top"}, "cwd", h.at("src")), "[]")
	for range 2 {
		if err := os.MkdirAll(h.at("out"), 0o755); err != nil {
			t.Fatal(err)
		}
		h.want(h.twice("tar", []any{"-x -p -f", h.at("t.tar")}, "dest", h.at("out")), "[]")
		h.want(h.tree("out"), unpacked)
	}
	h.want(h.twice("tar", []any{"", "x"}), "error: Tar options can not be empty")
	for range 2 {
		v, err := h.call("gzip", []any{h.at("t.tar")})
		h.want(data.Repr(v), "[]")
		if _, statErr := os.Stat(h.at("t.tar.gz")); err != nil || statErr != nil {
			t.Error(err, statErr)
		}
		v, err = h.call("gunzip", []any{h.at("t.tar.gz")}, "options", "-q")
		h.want(data.Repr(v), "[]")
		if _, statErr := os.Stat(h.at("t.tar")); err != nil || statErr != nil {
			t.Error(err, statErr)
		}
	}
}

func TestList(t *testing.T) {
	h := newHost(t, "tar")
	if err := os.WriteFile(filepath.Join(h.dir, "none.tgz"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	h.want(strings.SplitAfter(h.twice("list", []any{h.at("none.tgz")}), ".")[0],
		"error: Unable to list contents of @/none.")
	verbose := "{'dirs': ['top/', 'top/sub/'], 'files': ['top/a', 'top/sub/b'], 'links': ['top/l'], 'top_level_dirs': ['top/'], 'top_level_files': [], " +
		"'top_level_links': []}"
	for _, c := range []struct{ name, options, file, lister string }{
		{"tar", "-c", "t.tar", ""}, {"gzip", "-cz", "t.tgz", ""}, {"bzip2", "-cj", "t.tbz2", ""},
		{"xz", "-cJ", "t.tar.xz", ""},
		{"zstd", "-c --zstd", "t.tar", "zstd --decompress --stdout"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "tar" {
				need.Program(t, c.name)
			}
			h := &host{t, h.dir, h.funcs}
			h.want(h.twice("tar", []any{c.options + " -f", h.at(c.file), "top"}, "cwd", h.at("src")), "[]")
			var options any
			if c.lister != "" {
				options = c.lister
				h.want(strings.SplitAfter(h.twice("list", []any{h.at(c.file)}), ".")[0],
					"error: Unable to list contents of @/t.")
			}
			h.want(h.twice("list", []any{h.at(c.file)}, "options", options, "verbose", true), verbose)
			h.want(h.twice("list", []any{"salt://" + c.file}, "options", options,
				"strip_components", int64(1)), "['a', 'l', 'sub/', 'sub/b']")
		})
	}
	h.write("x.rar", "", 0o600)
	h.write("x.zip", "no archive", 0o600)
	for _, c := range []struct {
		args  []any
		words []any
		want  string
	}{
		{[]any{h.at("nosuch.tar")}, nil,
			"error: Failed to list contents of @/nosuch.tar: [Errno 2] No such file or directory: '@/nosuch.tar'. Additional info follows:\n\narchive location:\n    @/nosuch.tar"},
		{[]any{h.at("src/top/a")}, nil,
			"error: Unable to guess archive format, please pass an 'archive_format' argument. Additional info follows:\n\narchive location:\n    @/src/top/a"},
		{[]any{h.at("src/top/a"), "cpio"}, nil,
			"error: Unsupported archive format 'cpio'. Additional info follows:\n\narchive location:\n    @/src/top/a"},
		{[]any{h.at("x.zip")}, nil, "error: @/x.zip is not a ZIP file. Additional info follows:\n\narchive location:\n    @/x.zip"},
		{[]any{h.at("x.zip")}, []any{"strip_components", "a"},
			"error: 'strip_components' must be a positive integer. Additional info follows:\n\narchive location:\n    @/x.zip"},
	} {
		h.want(h.twice("list", c.args, c.words...), c.want)
	}
	h.want(h.twice("is_encrypted", []any{h.at("x.zip")}),
		"error: @/x.zip is not a ZIP file. Additional info follows:\n\narchive location:\n    @/x.zip")
}

func TestZip(t *testing.T) {
	h := newHost(t)
	h.want(h.twice("zip", []any{h.at("z.zip"), "top"}, "cwd", h.at("src")),
		"['top/', 'top/a', 'top/l', 'top/sub/', 'top/sub/b']")
	h.want(h.twice("zip", []any{h.at("a.zip"), h.at("src/top/s*") + "," + h.at("none")}),
		strings.ReplaceAll("['D/', 'D/b']", "D", strings.TrimPrefix(h.at("src/top/sub"), "/")))
	h.want(h.twice("zip", []any{h.at("z2.zip"), "top"}), "error: Relative paths require the 'cwd' parameter")
	h.want(h.twice("zip", []any{h.at("z2.zip"), "top"}, "cwd", "src"), "error: cwd must be absolute")
	h.want(h.twice("zip", []any{h.at("{{ 'z3' }}.zip"), "top"}, "cwd", h.at("src"), "template",
		"jinja"), "['top/', 'top/a', 'top/l', 'top/sub/', 'top/sub/b']")
	h.want(h.twice("zip", []any{h.at("z.zip"), "top"}, "cwd", h.at("src"), "template", "nosuch"),
		"error: Attempted to render file paths with unavailable engine nosuch")
	h.want(h.twice("is_encrypted", []any{h.at("z3.zip")}), "False")
	h.want(h.twice("unzip", []any{h.at("z.zip"), h.at("out")}),
		"['top/', 'top/a', 'top/l', 'top/sub/', 'top/sub/b']")
	// zip follows links, as Salt's does
	h.want(h.tree("out"), strings.Replace(unpacked, "top/l Lrwxrwxrwx one", "top/l -rw-r----- one", 1))
	h.want(h.twice("unzip", []any{h.at("z.zip"), h.at("out2")}, "excludes", "top/a, top/l",
		"trim_output", int64(2)), "['top/', 'top/sub/', 'List trimmed after 2 files.']")
	h.want(h.twice("unzip", []any{h.at("src/top/a"), h.at("out2")}),
		"error: Exception encountered unpacking zipfile: File is not a zip file")
}

// These archives were made with the program zip, with a password and with links.
func TestUnzip(t *testing.T) {
	h := newHost(t, "zip", "unzip")
	for name, options := range map[string][]string{"plain": nil, "locked": {"-P", "secret"},
		"stored": {"-0", "-P", "secret"}} {
		cmd := exec.Command("zip", append(append([]string{"-qry"}, options...), h.at(name+".zip"), "top")...)
		cmd.Dir = h.at("src")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		all := "['top/', 'top/l', 'top/sub/', 'top/sub/b', 'top/a']"
		listed := h.twice("unzip", []any{h.at(name + ".zip"), h.at(name)}, "password", "secret")
		if len(listed) != len(all) {
			t.Errorf("got %s", listed)
		}
		h.want(h.tree(name), unpacked)
		h.want(h.twice("is_encrypted", []any{h.at(name + ".zip")}),
			map[bool]string{true: "True", false: "False"}[options != nil])
	}
	h.want(h.twice("unzip", []any{h.at("locked.zip"), h.at("no")}),
		"error: Exception encountered unpacking zipfile: File 'top/l' is encrypted, password required for extraction")
	if got := h.twice("unzip", []any{h.at("locked.zip"), h.at("no")}, "password",
		"other"); !strings.HasPrefix(got, "error: Exception encountered unpacking zipfile: Bad ") {
		t.Errorf("with a wrong password it returned %s", got)
	}
	h.want(h.twice("list", []any{h.at("plain.zip")}), "['top/', 'top/a', 'top/l', 'top/sub/', 'top/sub/b']")
	h.want(h.twice("list", []any{h.at("plain.zip")}, "verbose", true),
		"{'dirs': ['top/', 'top/sub/'], 'files': ['top/a', 'top/sub/b'], 'links': ['top/l'], "+
			"'top_level_dirs': ['top/'], 'top_level_files': [], 'top_level_links': []}")

	for _, word := range []string{"adding", "updating"} {
		v, err := h.call("cmd_zip", []any{h.at("c.zip"), "top/sub/b"}, "cwd", h.at("src"))
		if got := data.Repr(v); err != nil || !strings.Contains(got, word+": top/sub/b") {
			t.Errorf("cmd_zip returned %s, %v", got, err)
		}
	}
	if got := h.twice("cmd_unzip", []any{h.at("c.zip"), h.at("c"), "top/sub/x"}, "options",
		"-o -q"); got != "['caution: excluded filename not matched:  top/sub/x']" {
		t.Errorf("cmd_unzip returned %s", got)
	}
	if got := h.tree("c"); !strings.Contains(got, "top/sub/b") {
		t.Errorf("cmd_unzip makes %s", got)
	}
	if got := h.twice("cmd_unzip", []any{h.at("src/top/a"), h.at("c")}); !strings.HasPrefix(got,
		"error: Archive:  @/src/top/a") {
		t.Errorf("cmd_unzip of no archive returned %s", got)
	}
}

// rar mimics the program rar, which is not free and rarely installed.
const rar = `#!/bin/sh
case $1 in
lt) printf 'Details: RAR 5\n\n        Name: top/a\n        Type: File\n        Size: 4\n\n        Name: top\n        Type: Directory\n' ;;
a) shift 3; echo "Adding $*" ;;
x) shift 2; mkdir -p "$2/top" && echo "$1 to $2" && echo one > "$2/top/a" ;;
esac
`

func TestRar(t *testing.T) {
	h := newHost(t)
	h.want(h.twice("rar", []any{h.at("x.rar"), "top"}), "error: The 'rar' binary was not found in $PATH.")
	h.want(h.twice("unrar", []any{h.at("x.rar"), h.at("out")}),
		`error: None of provided binaries(["'unrar'", "'rar'"]) were found in $PATH.`)
	h.write("bin/rar", rar, 0o755)
	h.write("x.rar", "Rar!", 0o644)
	t.Setenv("PATH", h.at("bin")+":"+os.Getenv("PATH"))
	h.want(h.twice("rar", []any{h.at("x.rar"), "a,b"}), "['Adding a b']")
	h.want(h.twice("list", []any{h.at("x.rar")}), "['top/', 'top/a']")
	h.want(h.twice("unrar", []any{h.at("x.rar"), h.at("out")}), "['@/x.rar to @/out']")
	h.want(h.tree("out"), "top drwxr-xr-x \ntop/a -rw-r--r-- one\n")
}

// FuzzUnzip unpacks broken archives and files that are not archives.
func FuzzUnzip(f *testing.F) {
	seed := func(names ...string) []byte {
		var b bytes.Buffer
		zipped(f, &b, names...)
		return b.Bytes()
	}
	f.Add(seed("top/", "top/a", "../evil", "/abs"))
	f.Add(seed("a"))
	opts := data.NewMap("id", "web1", "file_client", "local", "cachedir", f.TempDir())
	funcs, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		h := &host{t, t.TempDir(), funcs}
		h.write("z.zip", string(content), 0o600)
		for _, password := range []any{nil, "x"} {
			_, _ = h.call("unzip", []any{h.at("z.zip"), h.at("in")}, "password", password)
		}
		_, _ = h.call("list", []any{h.at("z.zip")}, "verbose", true)
		if list, err := os.ReadDir(h.dir); err != nil || len(list) > 2 {
			t.Errorf("outside there is %v, %v", list, err)
		}
	})
}
