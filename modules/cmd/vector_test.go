//go:build unix

package cmd

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
)

// laterSections are the sections of 10-cli.json that other packages read.
var laterSections = map[string]string{
	"outputters_one": "output", "outputters_all": "output", "colour": "output",
	"functions": "modules", "modules": "modules", "cli_options": "cli", "offline": "cli",
	"salt_call": "cli", "salt_run": "cli", "batch": "cli", "token": "cli",
}

// TestVectorCommands runs the commands that the operator typed and compares the output.
func TestVectorCommands(t *testing.T) {
	f := vectors.Load(t, "10-cli.json")
	vectors.Later(t, f, []string{"cmd"}, laterSections)
	setEnvironment(t, t.TempDir())
	files := f.Top.Value("fixture_files").(*data.Map)
	for _, c := range f.Section("cmd") {
		t.Run(c.Name, func(t *testing.T) { checkCommand(t, c.On(t), files) })
	}
}

func checkCommand(t *testing.T, c *vectors.Case, files *data.Map) {
	c.Only("program", "argv", "exit_code", "stdout", "stderr", "volatile", "seq", "python_traceback", "name")
	argv := c.List("argv")
	if c.Text("program") != "salt" || len(argv) < 2 || argv[0] != "web1" {
		t.Fatalf("case is not understood: %v", argv)
	}
	outputter := "nested"
	var typed []any
	for _, a := range argv[2:] {
		if name, ok := strings.CutPrefix(a.(string), "--out="); ok {
			outputter = name
			continue
		}
		typed = append(typed, a)
	}
	args, kwargs := loader.ParseInput(typed)
	kwargs.Set("__kwarg__", true)
	r := newRegistry(t, &loader.Env{Opts: &data.Map{}}, fileClient(t, files))
	res := r.Call(t.Context(), argv[1].(string), append(args, kwargs),
		loader.CallOptions{Pub: data.NewMap("jid", "20260101000000000000")})
	if failed := c.Int("exit_code") != 0; failed != (res.Retcode != 0) {
		t.Errorf("%v: return code %d, want exit code %d", argv, res.Retcode, c.Int("exit_code"))
	}
	if outputter == "key" { // the original's outputter breaks on the value; only that can be compared
		if m, ok := res.Value.(*data.Map); !ok || m.Len() != 1 || !data.Truth(m.Value("pid")) {
			t.Errorf("%v = %s", argv, data.Repr(res.Value))
		}
		return
	}
	o, err := output.New(outputter, output.Options{Indent: output.NoIndent{}, Retcode: res.Retcode})
	if err != nil {
		t.Fatal(err)
	}
	got, err := o.Format(data.NewMap("web1", res.Value))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := steady(got), steady(c.Text("stdout")); got != want {
		t.Errorf("%v\n got %q\nwant %q", argv, got, want)
	}
}

var pidText = regexp.MustCompile(`(pid"?:\s+)\d+`)

// steady replaces values that differ between runs. The path of the shell is that of the captured
// system.
func steady(s string) string {
	s = pidText.ReplaceAllString(s, "${1}N")
	s = regexp.MustCompile(`\S*__salt\.tmp\.\w+`).ReplaceAllString(s, "TEMP")
	return strings.TrimRight(s, "\n")
}

// fileClient is a stub of the module cp with the files of the captured master.
func fileClient(t *testing.T, files *data.Map) loader.Plugin {
	dir := t.TempDir()
	return loader.Plugin{Name: "cp", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("cache_file",
			func(_ context.Context, a cacheArgs) (any, error) {
				text, ok := files.Get("/tmp/s/srv/salt/" + strings.TrimPrefix(a.Path, "salt://"))
				if !ok {
					return false, nil
				}
				path := filepath.Join(dir, "cached")
				return path, os.WriteFile(path, []byte(text.(string)), 0o600)
			})}}, nil
	}}
}
