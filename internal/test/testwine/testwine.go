//go:build linux

// Package testwine runs our programs for Windows under Wine, for tests.
//
// Wine 8.0, Debian's, lacks one function that Go needs. A DLL of that function, which Debian's
// MinGW builds, stands in the system directory of the emulated Windows.
package testwine

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
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
	if out, err := h.wine(t.Context(), "wineboot", "--init").CombinedOutput(); err != nil {
		t.Fatalf("make a Windows: %v\n%s", err, out)
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

// A Server publishes jobs to a minion, as the client of a master does.
type Server interface {
	Publish(ctx context.Context, r client.Request) (*client.Job, error)
	Results(ctx context.Context, j *client.Job, w client.Wait) iter.Seq2[client.Result, error]
}

// patience is how long a start of a program and a job may take on a busy machine.
const patience = 5 * time.Minute

// StartMinion runs a minion with the configuration until the end of the test, and waits until it
// answers to jobs of a master.
func (h *Host) StartMinion(t testing.TB, s Server, id string) *Minion {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := h.Command(ctx, "salt-minion", "-c", Config, "-l", "warning")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.WaitDelay = time.Second // programs of Wine hold the pipes
	if err := cmd.Start(); err != nil {
		stop()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("minion:\n%s", log.String())
		}
	})
	m := &Minion{server: s, id: id}
	m.Await(t)
	return m
}

// Await waits until the minion answers to jobs.
func (m *Minion) Await(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		v, err := m.try(t.Context(), 2*time.Second, "test.ping")
		switch {
		case err == nil && v == true:
			return
		case time.Now().After(end):
			t.Fatalf("the minion does not answer within %s: %v, %v", patience, v, err)
		}
	}
}

// Of returns the minion of another name on the same master.
func (m *Minion) Of(id string) *Minion { return &Minion{server: m.server, id: id} }

// Program returns the path on Windows of one of our programs.
func (h *Host) Program(name string) string {
	return "Z:" + strings.ReplaceAll(filepath.Join(h.bin, name+".exe"), "/", `\`)
}

// A Minion runs on an emulated Windows.
type Minion struct {
	server Server
	id     string
}

// Call calls a function on the minion and returns its result, also that of a failed call. Arguments
// are like those of a job: name=value is not split.
func (m *Minion) Call(t testing.TB, fun string, args ...any) any {
	t.Helper()
	v, err := m.try(t.Context(), patience, fun, args...)
	if err != nil {
		t.Fatalf("%s %v: %v", fun, args, err)
	}
	return v
}

func (m *Minion) try(ctx context.Context, limit time.Duration, fun string, args ...any) (any, error) {
	job, err := m.server.Publish(ctx, client.Request{Target: m.id, Kind: "list", Fun: fun, Arg: args,
		Timeout: limit})
	if err != nil {
		return nil, err
	}
	for r, err := range m.server.Results(ctx, job, client.Wait{Timeout: limit, Gather: limit}) {
		switch {
		case err != nil:
			return nil, err
		case !r.Missing:
			return r.Value, nil
		}
	}
	return nil, errors.New("no return")
}
