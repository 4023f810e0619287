//go:build unix

package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

// TestGolden compares the functions with what Salt 3006.0 returned, raised and left in the context
// for the same calls (testdata/golden.json). Errors of programs that do not start omit environment
// and stdin.
func TestGolden(t *testing.T) {
	dir, home := goldenDir(t), t.TempDir()
	setEnvironment(t, home)
	src, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("/tmp/brine-cmd", dir, `"/root"`, `"`+home+`"`, "'/root'", "'"+home+
		"'", "=/root", "="+home).Replace(string(src))
	v, err := vectors.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	list, _ := v.([]any)
	for _, c := range vectors.Cases(t, list) {
		t.Run(goldenName(c), func(t *testing.T) { golden(t, c.On(t)) })
	}
}

func goldenName(c *vectors.Case) string {
	return fmt.Sprintf("%s %s %.80s", c.Name, c.Text("fun"),
		fmt.Sprint(data.Repr(c.Value("args")), data.Repr(c.Value("kwargs"))))
}

func golden(t *testing.T, c *vectors.Case) {
	c.Only("fun", "args", "kwargs", "published", "opts", "context", "value", "error", "retcode")
	kwargs := c.Object("kwargs").Clone()
	given, _ := c.Map.Value("context").(*data.Map)
	if kwargs.Text("runas") != "" && kwargs.Text("runas") != "nosuchuser" || given.Has("runas") {
		needsRoot(t)
	}
	if kwargs.Has("group") {
		needsNoSudo(t)
	}
	if c.Bool("published") {
		kwargs.Set("__pub_jid", "20260101000000000000")
	}
	opts, _ := c.Map.Value("opts").(*data.Map)
	job := &loader.Context{}
	for k, v := range given.All() {
		job.Set(k.(string), v)
	}
	r := newRegistry(t, &loader.Env{Opts: opts})
	if f, ok := r.Func(c.Text("fun")); ok && f.Spec().Kwargs == "" {
		kwargs.Delete("__pub_jid")
	}
	value, err := r.Invoke(loader.WithContext(t.Context(), job), c.Text("fun"), c.List("args"), kwargs)
	got := &data.Map{}
	if err != nil {
		got.Set("error", errorMap(err))
	} else {
		got.Set("value", withoutPID(value))
	}
	if code, ok := job.Get("retcode"); ok {
		got.Set("retcode", code)
	}
	want := &data.Map{}
	for _, field := range []string{"error", "value", "retcode"} {
		if v, ok := c.Map.Get(field); ok {
			want.Set(field, v)
		}
	}
	if diff := cmp.Diff(plain(want), plain(got)); diff != "" {
		t.Errorf("%s%s%s (-want +got):\n%s", c.Text("fun"), data.Repr(c.Value("args")),
			data.Repr(kwargs), diff)
	}
}

// plain prints a value, with its fields in order and without the names of temporary files.
func plain(m *data.Map) string {
	text := temporary.ReplaceAllString(data.Repr(m), "TEMP")
	return strings.ReplaceAll(text, ", 'executable'", ",\n'executable'")
}

var temporary = regexp.MustCompile(`[^' ]*__salt\.tmp\.\w+`)

func errorMap(err error) *data.Map {
	class := "?"
	if e, ok := errors.AsType[*loader.Error](err); ok {
		class = e.Class
	}
	return data.NewMap("class", class, "text", err.Error())
}

func withoutPID(v any) any {
	if m, ok := v.(*data.Map); ok && data.Truth(m.Value("pid")) {
		m.Set("pid", int64(0))
	}
	return v
}

// goldenDir makes the files for the golden calls.
func goldenDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir, dir + "/dir", dir + "/bin"} {
		if err := errors.Join(os.MkdirAll(d, 0o755), os.Chmod(d, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir+"/hello.sh", "#!/bin/sh\necho \"args $*\"; echo oops >&2; exit 4\n", 0o755)
	write(t, dir+"/plain", "echo plain \"$0\"\n", 0o644)
	write(t, dir+"/noshebang", "echo hi\n", 0o755)
	write(t, dir+"/bin/tool", "#!/bin/sh\necho tool \"$@\"\n", 0o755)
	write(t, dir+"/bin/data", "x", 0o644)
	return dir
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

// setEnvironment sets the environment of the golden calls.
func setEnvironment(t *testing.T, home string) {
	t.Helper()
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		t.Setenv(name, "") // restores it after
		if err := os.Unsetenv(name); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	t.Setenv("HOME", home)
	t.Setenv("SHELL", "/bin/bash")
}

// brought returns the template engine's parts.
func brought() render.Brought {
	return render.Brought{Renderers: stdrender.Renderers(),
		Files: fileclient.Brought{Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})}}
}

func newRegistry(t *testing.T, env *loader.Env, more ...loader.Plugin) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(env, append(more, Plugin(brought())))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// needsRoot skips a test without root, or fails it if no test may be skipped.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		need.Missing(t, "needs root: runs programs as other users")
	}
	if _, err := user.Lookup("nobody"); err != nil {
		need.Missing(t, "needs the user nobody")
	}
}

func needsNoSudo(t *testing.T) {
	t.Helper()
	for _, dir := range searchPath() {
		if executable(filepath.Join(dir, "sudo")) {
			need.Missing(t, "needs a system without sudo: the golden error is about that")
		}
	}
}
