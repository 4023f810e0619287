//go:build linux

// Package testwine runs our programs for Windows under Wine, for tests.
//
// Wine 8.0, Debian's, lacks one function that Go needs. A DLL of that function, which Debian's
// MinGW builds, stands in the system directory of the emulated Windows.
package testwine

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/sources"
	"github.com/brineproject/brine/internal/test/need"
)

//go:embed testdata/prng.c
var prng []byte

// ProgramsVar is the environment variable that names a directory with salt-call.exe and
// salt-minion.exe. Without it Start builds them.
const ProgramsVar = "BRINE_TEST_WINDOWS_PROGRAMS"

// A Host is an emulated Windows. Its files take some 700 MB until the end of the test.
type Host struct {
	prefix, bin string
	env         []string
}

// Start makes a Windows with our programs. The test is skipped without Wine and MinGW.
func Start(t testing.TB) *Host {
	t.Helper()
	need.Time(t, "it builds programs for Windows and runs them in Wine")
	need.Program(t, "wine", "wineserver", "x86_64-w64-mingw32-gcc")
	h := &Host{prefix: filepath.Join(t.TempDir(), "prefix"), bin: programs(t)}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); name != "DISPLAY" && !strings.HasPrefix(name, "WINE") {
			h.env = append(h.env, v)
		}
	}
	h.env = append(h.env, "WINEPREFIX="+h.prefix, "WINEDEBUG=-all", "WINEDLLOVERRIDES=mscoree,mshtml=")
	t.Cleanup(func() { h.end(t) })
	if err := h.wine(t.Context(), "wineboot", "--init").Run(); err != nil {
		t.Fatalf("make a Windows: %v", err)
	}
	h.buildDLL(t)
	return h
}

// end ends all programs of the Windows and waits for that.
func (h *Host) end(t testing.TB) {
	t.Helper()
	for _, option := range []string{"-k", "-w"} {
		cmd := exec.Command("wineserver", option)
		cmd.Env = h.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("wineserver %s: %v %s", option, err, out) // -k fails if none runs any more
		}
	}
}

// programs returns the directory of the programs.
func programs(t testing.TB) string {
	t.Helper()
	root := sources.Root(t)
	if dir := os.Getenv(ProgramsVar); dir != "" {
		return dir
	}
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-ldflags=-w", "-o", dir+"/",
		"./cmd/salt-call", "./cmd/salt-minion")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=windows", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the programs: %v\n%s", err, out)
	}
	return dir
}

// buildDLL puts bcryptprimitives.dll, which has one function, into the system directory.
func (h *Host) buildDLL(t testing.TB) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "prng.c")
	if err := os.WriteFile(source, prng, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("x86_64-w64-mingw32-gcc", "-shared", "-O1", "-s", "-o",
		h.File(`C:\windows\system32\bcryptprimitives.dll`), source, "-ladvapi32")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build bcryptprimitives.dll: %v\n%s", err, out)
	}
}

// File returns the path on this host of a path on drive C.
func (h *Host) File(path string) string {
	rest, _ := strings.CutPrefix(path, `C:\`)
	return filepath.Join(h.prefix, "drive_c", strings.ReplaceAll(rest, `\`, "/"))
}

// Read returns the content of a file on drive C.
func (h *Host) Read(t testing.TB, path string) string {
	t.Helper()
	body, err := os.ReadFile(h.File(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Write makes a file on drive C, and its directory.
func (h *Host) Write(t testing.TB, path, content string) {
	t.Helper()
	file := h.File(path)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Command returns a command that runs one of our programs.
func (h *Host) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	return h.wine(ctx, append([]string{filepath.Join(h.bin, program+".exe")}, args...)...)
}

func (h *Host) wine(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "wine", args...)
	cmd.Env, cmd.Dir = h.env, h.bin
	return cmd
}

// Config is the directory of the configuration.
const Config = `C:\salt\conf`

// A Call is a call of an execution function.
type Call struct {
	Fun  string
	Args []any
	Kw   map[string]any
}

// Words returns a call from words: a function and its arguments, which are texts.
func Words(line string) Call {
	words := strings.Fields(line)
	c := Call{Fun: words[0]}
	for _, word := range words[1:] {
		c.Args = append(c.Args, word)
	}
	return c
}

// expression returns the call in the language of templates.
func (c Call) expression() (string, error) {
	var args []string
	for _, arg := range c.Args {
		text, err := json.Marshal(arg)
		if err != nil {
			return "", err
		}
		args = append(args, string(text))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Kw)) {
		text, err := json.Marshal(c.Kw[name])
		if err != nil {
			return "", err
		}
		args = append(args, name+"="+string(text))
	}
	return "salt['" + c.Fun + "'](" + strings.Replace(strings.Join(args, ", "), "null", "none", -1) + ")", nil
}

// Batch calls functions one after the other in one run of salt-call, which is much faster than a
// run for each, and returns their results as JSON has them. The test ends if one of them fails.
func (h *Host) Batch(t testing.TB, calls ...Call) []any {
	t.Helper()
	var template strings.Builder
	for i, c := range calls {
		text, err := c.expression()
		if err != nil {
			t.Fatal(err)
		}
		template.WriteString(map[bool]string{true: "[", false: ",\n"}[i == 0] + "{{ " + text + " | tojson }}")
	}
	template.WriteString("]\n")
	h.Write(t, `C:\batch.jinja`, template.String())
	v := h.Call(t, "slsutil.renderer", `path=C:\batch.jinja`, "default_renderer=jinja")
	var results []any
	if err := json.Unmarshal([]byte(fmt.Sprint(v)), &results); err != nil || len(results) != len(calls) {
		t.Fatalf("%d calls return %v: %v", len(calls), v, err)
	}
	return results
}

// One is Batch for one call.
func (h *Host) One(t testing.TB, fun string, args ...any) any {
	t.Helper()
	return h.Batch(t, Call{Fun: fun, Args: args})[0]
}

// Call calls a function with salt-call --local, and returns its result. Arguments are words of a
// command line.
func (h *Host) Call(t testing.TB, words ...string) any {
	t.Helper()
	v, stderr, err := h.call(t.Context(), words...)
	if err != nil {
		t.Fatalf("%q: %v\n%s", words, err, stderr)
	}
	return v
}

// Try is Call for functions that may fail: it returns the result and the errors that were printed.
func (h *Host) Try(t testing.TB, words ...string) (v any, errs string) {
	t.Helper()
	v, errs, _ = h.call(t.Context(), words...)
	return v, errs
}

func (h *Host) call(ctx context.Context, words ...string) (v any, errs string, err error) {
	cmd := h.Command(ctx, "salt-call", append([]string{"--local", "-c", Config, "--out=json",
		"-l", "warning"}, words...)...)
	// files, as programs of Wine that stay hold pipes
	out, err := os.CreateTemp(filepath.Dir(h.prefix), "stdout")
	if err != nil {
		return nil, "", err
	}
	defer out.Close()
	problems, err := os.CreateTemp(filepath.Dir(h.prefix), "stderr")
	if err != nil {
		return nil, "", err
	}
	defer problems.Close()
	cmd.Stdout, cmd.Stderr = out, problems
	err = cmd.Run()
	stdout, wrong := os.ReadFile(out.Name())
	stderr, unread := os.ReadFile(problems.Name())
	if err = errors.Join(err, wrong, unread); wrong != nil || unread != nil {
		return nil, "", err
	}
	var answer struct{ Local any }
	if wrong := json.Unmarshal(stdout, &answer); wrong != nil {
		err = errors.Join(err, fmt.Errorf("output %q: %w", stdout, wrong))
	}
	return answer.Local, string(stderr), err
}

// Program returns the path on Windows of one of our programs.
func (h *Host) Program(name string) string {
	return "Z:" + strings.ReplaceAll(filepath.Join(h.bin, name+".exe"), "/", `\`)
}
