//go:build linux

package archive_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/state/change"
	"github.com/brineproject/brine/states"
)

// A host is a masterless minion in a directory with archives.
type host struct {
	t      *testing.T
	dir    string
	states *loader.Registry
}

func newHost(t *testing.T) *host {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	opts := data.NewMap("id", "web1", "file_client", "local", "local", true, "user", "root",
		"cachedir", filepath.Join(dir, "cache"), "conf_file",
		filepath.Join(dir, "minion"), "fileserver_backend", []any{"roots"}, "file_roots",
		data.NewMap("base", []any{filepath.Join(dir, "srv")}),
		"hash_type", "sha256", "file_buffer_size", int64(262144), "test", false)
	funcs, err := loader.NewRegistry(&loader.Env{Opts: opts}, modules.Plugins(modules.Brought()))
	if err != nil {
		t.Fatal(err)
	}
	env := *funcs.Env()
	env.Registries = map[string]*loader.Registry{}
	registry, err := loader.NewRegistry(&env, states.Plugins())
	if err != nil {
		t.Fatal(err)
	}
	env.Registries["states"] = registry
	h := &host{t, dir, registry}
	h.tarball("a.tgz", "top/", "top/a", "top/sub/b", "top/l -> a")
	h.tarball("flat.tgz", "x", "y")
	return h
}

func (h *host) at(name string) string { return filepath.Join(h.dir, name) }

func (h *host) tarball(file string, names ...string) {
	h.t.Helper()
	f, err := os.Create(h.at(file))
	if err != nil {
		h.t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	w := tar.NewWriter(z)
	for _, name := range names {
		from, target, link := strings.Cut(name, " -> ")
		header := &tar.Header{Name: from, Linkname: target, Mode: 0o644, Size: 4, Uid: os.Getuid(),
			Gid: os.Getgid()}
		switch {
		case link:
			header.Typeflag, header.Size = tar.TypeSymlink, 0
		case strings.HasSuffix(name, "/"):
			header.Typeflag, header.Size, header.Mode = tar.TypeDir, 0, 0o755
		}
		err := w.WriteHeader(header)
		if err == nil && header.Size > 0 {
			_, err = io.WriteString(w, "text")
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close(), f.Close()); err != nil {
		h.t.Fatal(err)
	}
}

// run runs the state and returns result, changes, comment and warnings, with the test's directory
// replaced by @.
func (h *host) run(test bool, words ...any) string {
	h.t.Helper()
	call := &change.Call{Test: test, Low: data.NewMap("state", "archive"),
		SaltEnv: "base", Run: "r", Ran: func(string) *data.Map { return nil },
		Chunks: func() []*data.Map { return nil }}
	ctx := loader.WithContext(change.WithCall(h.t.Context(), call), loader.ContextOf(h.t.Context()))
	v, err := h.states.Invoke(ctx, "archive.extracted", nil, data.NewMap(words...))
	ret, ok := v.(*data.Map)
	if err != nil || !ok {
		h.t.Fatalf("archive.extracted: %v, %v", v, err)
	}
	output := data.Repr(ret.Value("result")) + " " + data.Repr(ret.Value("changes")) + " " +
		ret.Text("comment")
	if ret.Has("warnings") {
		output += " " + data.Repr(ret.Value("warnings"))
	}
	return strings.ReplaceAll(output, h.dir, "@")
}

func (h *host) want(got, want string) {
	h.t.Helper()
	if got != want {
		h.t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// tree describes everything below a directory.
func (h *host) tree(name string) string {
	var b strings.Builder
	_ = filepath.WalkDir(h.at(name), func(path string, d os.DirEntry, err error) error {
		if err == nil && path != h.at(name) {
			info, _ := d.Info()
			b.WriteString(strings.TrimPrefix(path, h.at(name)+"/") + " " + info.Mode().String() + "\n")
		}
		return err
	})
	return b.String()
}

const (
	same = "True {} All files in archive are already present"
	made = "top drwxr-xr-x\ntop/a -rw-r--r--\ntop/l Lrwxrwxrwx\ntop/sub drwxr-xr-x\ntop/sub/b -rw-r--r--\n"
)

// First test mode writes nothing, then the archive is unpacked, then nothing is left to do. The
// comments are those of Salt 3006.0.
func TestThrice(t *testing.T) {
	for _, c := range []struct {
		name  string
		words []any
		files string
		after string // at the end of the comment
	}{
		{"plain", nil, "['top', 'top/a', 'top/sub/b', 'top/l']", "False"},
		{"trimmed", []any{"trim_output", int64(2)}, "['top', 'top/a']", "2"},
		{"by tar", []any{"options", "z"}, "['top/', 'top/a', 'top/sub/b', 'top/l']", "False"},
		{"hash", []any{"source_hash", "sum", "source_hash_update", true},
			"['top', 'top/a', 'top/sub/b', 'top/l']", "False"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t)
			words := append([]any{"name", h.at("out/deep"), "source", h.at("a.tgz")}, c.words...)
			for i := range words {
				if words[i] == "sum" {
					words[i] = h.sum("a.tgz")
				}
			}
			h.want(h.run(true, words...), "None {} Archive @/a.tgz would be extracted to @/out/deep/, due to absence of one or more files/dirs")
			h.want(h.tree("out"), "")
			h.want(h.run(false, words...),
				"True {'directories_created': ['@/out/deep/'], 'extracted_files': "+c.files+
					"} @/a.tgz extracted to @/out/deep/, "+
					"due to absence of one or more files/dirs. Output was trimmed to "+c.after+
					" number of lines")
			h.want(h.tree("out/deep"), made)
			h.want(h.run(false, words...), same)
			h.want(h.run(true, words...), same)
		})
	}
}

func (h *host) sum(name string) string {
	h.t.Helper()
	v, err := h.states.Env().Call(h.t.Context(), "file.get_hash", []any{h.at(name)}, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return data.Str(v)
}

// The archive is unpacked again if a file is missing.
func TestMissing(t *testing.T) {
	h := newHost(t)
	words := []any{"name", h.at("out"), "source", h.at("a.tgz")}
	h.run(false, words...)
	if err := os.Remove(h.at("out/top/sub/b")); err != nil {
		t.Fatal(err)
	}
	h.want(h.run(false, words...),
		"True {'extracted_files': ['top', 'top/a', 'top/sub/b', 'top/l']} @/a.tgz extracted to @/out/, due to absence of one or more "+
			"files/dirs. Output was trimmed to False number of lines")
	h.want(h.run(false, words...), same)
}

// A changed archive is unpacked again with source_hash_update.
func TestHashUpdate(t *testing.T) {
	h := newHost(t)
	words := func() []any {
		return []any{"name", h.at("out"), "source", h.at("a.tgz"), "source_hash", h.sum("a.tgz"),
			"source_hash_update", true}
	}
	h.run(false, words()...)
	h.want(h.run(false, words()...), same)
	known := append(words(), "skip_files_list_verify", true)
	h.want(h.run(false, known...),
		"True {} Archive @/a.tgz existing source sum is the same as the expected one and skip_files_list_verify argument was set to "+
			"True. Extraction is not needed")
	h.tarball("a.tgz", "top/a", "top/sub/b", "top/l -> sub")
	h.want(h.run(false, words()...),
		"True {'extracted_files': ['top/a', 'top/sub/b', 'top/l']} @/a.tgz extracted to @/out/, due to source_hash update. Output "+
			"was trimmed to False number of lines")
	h.want(h.run(false, words()...), same)
	h.want(h.run(false, "name", h.at("o"), "source", h.at("a.tgz"), "source_hash", "sha256="+
		strings.Repeat("0", 64)),
		"False {} @/a.tgz does not match the desired source_hash "+strings.Repeat("0", 64))
	h.want(h.tree("o"), "")
}

func TestClean(t *testing.T) {
	h := newHost(t)
	words := []any{"name", h.at("out"), "source", h.at("a.tgz"), "overwrite", true}
	extracted := "'extracted_files': ['top', 'top/a', 'top/sub/b', 'top/l']} @/a.tgz extracted to @/out/. Output was trimmed to False number of lines"
	h.run(false, words...)
	stale := func() {
		if err := errors.Join(os.WriteFile(h.at("out/top/stale"), nil, 0o600),
			os.WriteFile(h.at("out/stale"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	stale()
	h.want(h.run(true, append(words, "clean", true)...),
		"None {} Archive @/a.tgz would be extracted to @/out/, after cleaning destination path(s)")
	h.want(h.run(false, append(words, "clean", true)...), "True {'removed': ['@/out/top/'], "+extracted)
	h.want(h.tree("out"), "stale -rw-------\n"+made)
	stale()
	h.want(h.run(false, append(words, "clean_parent", true)...),
		"True {'removed': 'Directory @/out/ was removed prior to the extraction', 'directories_created': "+
			"['@/out/'], "+extracted)
	h.want(h.tree("out"), made)
	h.want(h.run(false, append(words, "clean", true, "clean_parent", true)...),
		"False {} Only one of 'clean' and 'clean_parent' can be set to True")
}

// Paths of another kind are only replaced with force.
func TestForce(t *testing.T) {
	h := newHost(t)
	words := []any{"name", h.at("out"), "source", h.at("a.tgz")}
	if err := errors.Join(os.MkdirAll(h.at("out/top/a"), 0o755),
		os.WriteFile(h.at("out/top/sub"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	h.want(h.run(false, words...),
		"False {} The below paths (relative to @/out/) exist, but are the incorrect type (file instead of directory, symlink instead of "+
			"file, etc.). To proceed with extraction, set 'force' to True. Note that this will remove these paths before extracting.\n\n- top/a")
	h.want(h.run(true, append(words, "clean", true)...),
		"None {} The below paths (relative to @/out/) exist, but are the incorrect type (file instead of "+
			"directory, symlink instead of file, etc.). Since the 'clean' option is enabled, the destination paths would be cleared and the archive would be "+
			"extracted.\n\n- top/a")
	if err := os.Remove(h.at("out/top/sub")); err != nil {
		t.Fatal(err)
	}
	h.want(h.run(false, append(words, "force", true)...),
		"True {'removed': ['@/out/top/a'], 'extracted_files': ['top', 'top/a', 'top/sub/b', 'top/l']} @/a.tgz "+
			"extracted to @/out/, due to absence of one or more files/dirs. Output was trimmed to False number of lines")
	h.want(h.run(false, words...), same)
}

// A user of the host puts a link in place of a directory of the archive. Files outside the
// directory are not touched.
func TestForceRemovesNothingOutside(t *testing.T) {
	h := newHost(t)
	h.tarball("deep.tgz", "top/sub/b/", "top/sub/b/c")
	words := []any{"name", h.at("out"), "source", h.at("deep.tgz"), "force", true}
	precious := h.at("outside/b")
	if err := errors.Join(os.MkdirAll(h.at("out/top"), 0o755), os.Mkdir(h.at("outside"), 0o755),
		os.WriteFile(precious, nil, 0o600),
		os.Symlink(h.at("outside"), h.at("out/top/sub"))); err != nil {
		t.Fatal(err)
	}
	if got := h.run(false, words...); !strings.HasPrefix(got, "False ") {
		t.Errorf("got %s", got)
	}
	if _, err := os.Lstat(precious); err != nil {
		t.Errorf("a file outside of the directory is gone: %v", err)
	}
}

func TestOwner(t *testing.T) {
	need.Root(t, "to give files to another user")
	h := newHost(t)
	words := []any{"name", h.at("out"), "source", h.at("flat.tgz"), "enforce_toplevel", false,
		"user", "nobody"}
	h.want(h.run(false, words...),
		"True {'updated ownership': True, 'directories_created': ['@/out/'], 'extracted_files': ['x', 'y']} @/flat.tgz extracted to "+
			"@/out/, due to absence of one or more files/dirs. Output was trimmed to False number of lines")
	h.want(h.run(false, words...), same)
	if err := os.Chown(h.at("out/x"), 0, -1); err != nil {
		t.Fatal(err)
	}
	h.want(h.run(true, words...), "None {'updated ownership': True} All files in archive are already present. Ownership would be updated on one or more "+
		"files/directories.")
	h.want(h.run(false, words...),
		"True {'updated ownership': True} All files in archive are already present")
	h.want(h.run(false, words...), same)
	h.want(h.run(false, append(words, "enforce_ownership_on", h.at("out/none"))...),
		"False {} All files in archive are already present\n\nWhile trying to enforce "+
			"user/group ownership, the following paths were missing:\n\n- @/out/none\n\nWhile trying to enforce user/group ownership, Salt was unable to change "+
			"ownership on the following paths:\n\n- @/out/none")
}

// Invalid calls are rejected with Salt's messages, and nothing is written.
func TestRefused(t *testing.T) {
	h := newHost(t)
	h.tarball("out.tgz", "top/a", "../evil")
	h.tarball("link.tgz", "top/l -> ../..", "top/l/evil")
	for _, name := range []string{"sum", "junk.tgz", "z.rar", "z.zip"} {
		if err := os.WriteFile(h.at(name), []byte(strings.Repeat("junk", 300)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listing := ". Additional info follows:\n\narchive location:\n    "
	for _, c := range []struct {
		name, source string
		words        []any
		want         string
	}{
		{"o", "a.tgz", []any{"skip_verify", true, "skip_files_list_verify", true},
			`Only one of "skip_files_list_verify" and "skip_verify" can be set to True`},
		{"sum", "a.tgz", nil, "@/sum exists and is not a directory"},
		{"o", "a.tgz", []any{"if_missing", "x"}, "Value for 'if_missing' is not an absolute path"},
		{"o", "a.tgz", []any{"enforce_ownership_on", "x"},
			"Value for 'enforce_ownership_on' is not an absolute path"},
		{"o", "a.tgz", []any{"enforce_ownership_on", h.at("x")},
			"Value for 'enforce_ownership_on' must be within @/o/"},
		{"o", "a.tgz", []any{"user", "nosuchuser"}, "User nosuchuser does not exist"},
		{"o", "a.tgz", []any{"group", "nosuchgroup"}, "Group nosuchgroup does not exist"},
		{"o", "none.tgz", nil, "Source file '@/none.tgz' does not exist"},
		{"o", "sum", nil, "Could not guess archive_format from the value of the 'source' argument. Please set this archive_format to one of the following: tar, rar, zip"},
		{"o", "sum", []any{"archive_format", "cpio"},
			"Invalid archive_format 'cpio'. Either set it to a supported value (tar, rar, zip) or remove this argument and " +
				"the archive format will be guessed based on file extension."},
		{"o", "a.tgz", []any{"password", "x"}, "The 'password' argument is only supported for zip archives"},
		{"o", "z.rar", []any{"options", "x"},
			"The 'options' argument is only compatible with the following archive formats: tar, zip"},
		{"o", "z.zip", []any{"options", "-x", "use_cmd_unzip", false},
			"'use_cmd_unzip' cannot be set to False if CLI options are being specified (via the 'options' " +
				"argument). Either remove 'use_cmd_unzip', or set it to True."},
		{"o", "a.tgz", []any{"trim_output", "x"},
			"Invalid value for trim_output, must be True/False or an integer"},
		{"o", "flat.tgz", nil, "Archive does not have a single top-level directory. To allow this archive to be extracted, set 'enforce_toplevel' to False. To avoid a " +
			"'tar-bomb' it may also be advisable to set a top-level directory by adding it to the 'name' value (for example, setting 'name' to @/o/some_dir instead of @/o/)."},
		{"o", "z.zip", []any{"if_missing", h.at("x")}, "@/z.zip is not a ZIP file" + listing + "@/z.zip"},
		{"o", "z.zip", nil, "@/z.zip is not a ZIP file" + listing +
			"@/z.zip\n\nThe following workarounds must be used for this state to proceed (assuming the source " +
			"file is a valid zip archive):\n\n- 'if_missing' must be set"},
		{"in", "out.tgz", []any{"enforce_toplevel", false},
			"Refusing to extract @/out.tgz to @/in/: member would be written outside of the directory: ../evil"},
	} {
		for _, test := range []bool{true, false, false} {
			h.want(h.run(test, append([]any{"name", h.at(c.name), "source", h.at(c.source)},
				c.words...)...), "False {} "+c.want)
		}
	}
	h.want(h.run(false, "name", "rel", "source", h.at("a.tgz")), "False {} rel is not an absolute path")
	h.want(h.run(false, "name", h.at("o"), "source", h.at("a.tgz"), "if_missing", h.at("sum")),
		"True {} Path @/sum exists")
	h.want(h.tree("o")+h.tree("in"), "")
	if got := h.run(false, "name", h.at("in"),
		"source", h.at("link.tgz")); !strings.HasPrefix(got, "False ") {
		t.Errorf("a link that leads out gives %s", got)
	}
	if _, err := os.Lstat(h.at("evil")); err == nil {
		t.Error("evil was written outside")
	}
}

// ZIP archives, with and without the program unzip.
func TestZip(t *testing.T) {
	for _, program := range []string{"zip", "unzip"} {
		need.Program(t, program)
	}
	h := newHost(t)
	h.run(false, "name", h.at("src"), "source", h.at("a.tgz"))
	for file, options := range map[string]string{"a.zip": "-qry", "p.zip": "-qryPsecret"} {
		cmd := exec.Command("zip", options, h.at(file), "top")
		cmd.Dir = h.at("src")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
	}
	for name, words := range map[string][]any{
		"own": {"source", h.at("a.zip")}, "program": {"source", h.at("a.zip"),
			"use_cmd_unzip", true}, "options": {"source", h.at("a.zip"), "options", "-o"},
		"locked": {"source", h.at("p.zip"), "password", "secret"},
	} {
		words = append(words, "name", h.at(name))
		if got := h.run(false, words...); !strings.HasPrefix(got,
			"True {'directories_created': ['@/"+name+"/'], 'extracted_files': [") {
			t.Errorf("%s gives %s", name, got)
		}
		h.want(h.tree(name), made)
		h.want(h.run(false, words...), same)
	}
	h.want(h.run(false, "name", h.at("o"), "source", h.at("p.zip")),
		"False {} Archive @/p.zip is password-protected, but no password was specified. Please set the "+
			"'password' argument.")
	if got := h.run(false, "name", h.at("o"), "source", h.at("p.zip"), "password", "secret",
		"use_cmd_unzip", true, "keep", true, "keep_source", false); strings.Contains(
		got[:strings.Index(got, "[\"")+1], "secret") ||
		!strings.Contains(got, "considered insecure") || !strings.Contains(got, "'keep' was ignored") {
		t.Errorf("a password for the program gives %s", got)
	}
}
