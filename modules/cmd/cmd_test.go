//go:build unix

package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/render"
)

func TestParametersAreThoseOfSalt(t *testing.T) {
	t.Setenv("SHELL", "/bin/bash")
	src, err := os.ReadFile("testdata/argspec.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := vectors.Decode(src)
	if err != nil {
		t.Fatal(err)
	}
	r := newRegistry(t, &loader.Env{})
	specs := v.(*data.Map)
	for name, want := range specs.All() {
		f, ok := r.Func(name.(string))
		if !ok {
			t.Errorf("%s is missing", name)
			continue
		}
		var args, defaults []any
		for _, p := range f.Spec().Params {
			args = append(args, p.Name)
			if !p.Required {
				defaults = append(defaults, p.Default)
			}
		}
		got := data.NewMap("args", args, "defaults", defaults, "varargs", nil,
			"kwargs", orNil(f.Spec().Kwargs))
		if w := want.(*data.Map); data.Repr(w) != strings.ReplaceAll(data.Repr(got),
			"'defaults': None", "'defaults': []") {
			t.Errorf("%s\n got %s\nwant %s", name, data.Repr(got), data.Repr(w))
		}
	}
	if names := r.Names(); len(names) != specs.Len() {
		t.Errorf("functions %v, want %d", names, specs.Len())
	}
}

// call runs a function of a new registry, like an operator does.
func call(t *testing.T, env *loader.Env, fun string, args []any, pairs ...any) (any, error) {
	t.Helper()
	kwargs := data.NewMap(pairs...)
	kwargs.Set("__pub_jid", "20260101000000000000")
	return newRegistry(t, env).Invoke(t.Context(), fun, args, kwargs)
}

// TestCVE2021_25284 runs commands with secrets in their text, input and environment. They must not
// show up in logs, errors or returns.
func TestCVE2021_25284(t *testing.T) {
	const marker = "MARKER7f3a"
	secretEnv, secretIn := data.NewMap("SECRET", marker), marker
	badEnv := []any{data.NewMap("A", marker, "B", marker)}
	quietLevel := []any{"output_loglevel", "quiet"}
	for _, tt := range []struct {
		name string
		fun  string
		args []any
		more []any
		opts *data.Map
	}{
		{"quiet run", "cmd.run", []any{"true " + marker}, quietLevel, nil},
		{"quiet failure", "cmd.run", []any{"false " + marker}, append(quietLevel, "raise_err", true), nil},
		{"quiet and missing", "cmd.run", []any{marker + " x"},
			append(quietLevel, "python_shell", false), nil},
		{"quiet and not executable", "cmd.run_all", []any{"/etc/passwd " + marker},
			append(quietLevel, "python_shell", false), nil},
		{"quiet timeout", "cmd.run", []any{"sleep 9; " + marker}, append(quietLevel, "timeout", 0.05), nil},
		{"quiet and forbidden", "cmd.run", []any{"echo " + marker}, quietLevel,
			data.NewMap("cmd_blacklist_glob", []any{"echo*"})},
		{"quiet bytes", "cmd.retcode", []any{"printf '\\377' # " + marker}, quietLevel, nil},
		{"quiet terminal", "cmd.run", []any{"true " + marker}, append(quietLevel, "use_vt", true), nil},
		{"quiet encoding", "cmd.run_stdout", []any{"true " + marker},
			append(quietLevel, "output_encoding", "ascii"), nil},
		{"quiet in the background", "cmd.run_bg", []any{"true " + marker}, quietLevel, nil},
		{"quiet code", "cmd.exec_code_all", []any{"sh", "true " + marker}, quietLevel, nil},
		{"shown run", "cmd.run_all", []any{"cat >/dev/null; exit 3"}, nil, nil},
		{"shown and missing", "cmd.run_all", []any{"nosuchprogram"}, []any{"python_shell", false}, nil},
		{"shown timeout", "cmd.run_all", []any{"sleep 9"}, []any{"timeout", 0.05}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log, text := traceLog()
			for _, env := range []any{secretEnv, badEnv} {
				kwargs := append([]any{"env", env}, tt.more...)
				if tt.fun != "cmd.run_bg" {
					kwargs = append(kwargs, "stdin", secretIn)
				}
				v, err := call(t, &loader.Env{Opts: tt.opts, Log: log}, tt.fun, tt.args, kwargs...)
				for _, where := range []string{data.Repr(v), errorText(err), text.String()} {
					if strings.Contains(where, marker) {
						t.Errorf("the marker stands in %q", where)
					}
				}
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func traceLog() (*logrus.Logger, *bytes.Buffer) {
	text := &bytes.Buffer{}
	log := logrus.New()
	log.SetOutput(text)
	log.SetLevel(logrus.TraceLevel)
	return log, text
}

func TestLogTellsWhatSaltLogs(t *testing.T) {
	log, text := traceLog()
	log.SetFormatter(levelAndText{})
	t.Setenv("SHELL", "/bin/sh")
	_, err := call(t, &loader.Env{Log: log, Root: listOfShells(t, "/bin/sh\n")},
		"cmd.run", []any{"echo out; exit 3"}, "cwd", "/")
	want := "info Executing command 'echo' in directory '/'\n" +
		"error Command 'echo' failed with return code: 3\nerror stdout: out\nerror retcode: 3\n" +
		"error Command 'echo' failed with return code: 3\nerror output: out\n"
	if err != nil || text.String() != want {
		t.Errorf("log\n%swant\n%s(%v)", text, want, err)
	}
	text.Reset()
	cleaned := func(s string) string { return strings.ReplaceAll(s, "out", "***") }
	_, err = call(t, &loader.Env{Log: log, Root: listOfShells(t, "/bin/bash\n")},
		"cmd.run", []any{"echo out"}, "cwd", "/", "log_callback", cleaned, "output_loglevel", "trace")
	want = "warning Attempt to run a shell command with what may be an invalid shell! Check to ensure that the shell </bin/sh> is " +
		"valid for this user.\ninfo Executing command 'echo' in directory '/'\ntrace stdout: ***\ntrace output: ***\n"
	if err != nil || text.String() != want {
		t.Errorf("log\n%swant\n%s(%v)", text, want, err)
	}
}

type levelAndText struct{}

func (levelAndText) Format(e *logrus.Entry) ([]byte, error) {
	return []byte(e.Level.String() + " " + e.Message + "\n"), nil
}

func listOfShells(t *testing.T, text string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(root+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, root+shellsFile, text, 0o644)
	return root
}

func TestShellsAreListed(t *testing.T) {
	root := listOfShells(t, "# shells\n/bin/sh\n\n  /bin/zsh \n#/bin/no\n")
	r := newRegistry(t, &loader.Env{Root: root})
	v, err := r.Invoke(t.Context(), "cmd.shells", nil, nil)
	if err != nil || data.Repr(v) != "['/bin/sh', '/bin/zsh']" {
		t.Errorf("cmd.shells = %s, %v", data.Repr(v), err)
	}
	v, err = newRegistry(t, &loader.Env{Root: t.TempDir()}).Invoke(t.Context(), "cmd.shells", nil, nil)
	if err != nil || data.Repr(v) != "[]" {
		t.Errorf("cmd.shells without a list = %s, %v", data.Repr(v), err)
	}
}

func TestDaemonVariablesAreNotInherited(t *testing.T) {
	for name := range strings.FieldsSeq(daemonOnly) {
		t.Setenv(name, "daemon")
	}
	t.Setenv("KEPT", "kept")
	v, err := call(t, &loader.Env{}, "cmd.run", []any{"env"}, "env", data.NewMap("LISTEN_FDS", "mine"))
	text := "\n" + data.Str(v) + "\n"
	if err != nil || !strings.Contains(text, "\nKEPT=kept\n") ||
		!strings.Contains(text, "\nLISTEN_FDS=mine\n") ||
		strings.Contains(text, "=daemon") {
		t.Errorf("environment %s, %v", text, err)
	}
}

func TestRetcodeFailsTheJob(t *testing.T) {
	r := newRegistry(t, &loader.Env{})
	for _, tt := range []struct {
		fun  string
		args []any
		want int
	}{
		{"cmd.run", []any{"exit 3"}, 3},
		{"cmd.run", []any{"exit 3", data.NewMap("__kwarg__", true, "ignore_retcode", true)}, 0},
		{"cmd.run_all", []any{"exit 3",
			data.NewMap("__kwarg__", true, "success_retcodes", []any{int64(3)})}, 0},
		{"cmd.retcode", []any{"kill -15 $$"}, -15},
		{"cmd.run_bg", []any{"exit 3"}, 0},
	} {
		res := r.Call(t.Context(), tt.fun, tt.args,
			loader.CallOptions{Pub: data.NewMap("jid", "20260101000000000000")})
		if res.Retcode != tt.want || res.Success != (tt.want == 0) {
			t.Errorf("%s%v = %+v, want return code %d", tt.fun, tt.args, res, tt.want)
		}
	}
}

func TestJobThatIsKilledTakesItsCommandsAlong(t *testing.T) {
	dir := t.TempDir()
	started := fifo(t, dir)
	tree := process.NewTree()
	done := make(chan any)
	go func() {
		v, _ := newRegistry(t, &loader.Env{}).Invoke(process.WithTree(t.Context(), tree), "cmd.run_all",
			[]any{"sleep 1000 & echo $! >" + started + "; wait; wait"}, data.NewMap("python_shell", true))
		done <- v
	}()
	child := readPID(t, started)
	tree.Signal(syscall.SIGKILL)
	v, ok := (<-done).(*data.Map)
	if !ok || v.Value("retcode") != int64(-9) {
		t.Errorf("cmd.run_all = %s, want return code -9", data.Repr(v))
	}
	checkGone(t, child)
}

func TestTimeoutEndsWhatTheCommandStarted(t *testing.T) {
	started := fifo(t, t.TempDir())
	done := make(chan any)
	go func() {
		v, _ := newRegistry(t, &loader.Env{}).Invoke(t.Context(), "cmd.run",
			[]any{"trap '' TERM; (trap '' TERM; sleep 1000) & echo $! >" + started},
			data.NewMap("python_shell", true, "timeout", 0.5))
		done <- v
	}()
	child := readPID(t, started)
	if v := data.Str(<-done); !strings.HasSuffix(v, " : Timed out after 0.5 seconds") {
		t.Errorf("cmd.run = %q", v)
	}
	checkGone(t, child)
}

func TestEndedJobIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("job killed")
	cancel(cause)
	if _, err := newRegistry(t, &loader.Env{}).Invoke(ctx, "cmd.run", []any{"true"},
		nil); !errors.Is(err, cause) {
		t.Errorf("err = %v, want %v", err, cause)
	}
}

func fifo(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readPID(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// checkGone fails the test if a process still runs. A zombie is fine: its parent is another
// process.
func checkGone(t *testing.T, pid int) {
	t.Helper()
	var state []byte
	// it has no event for us
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		var err error
		state, err = exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
		if err != nil || strings.HasPrefix(strings.TrimSpace(string(state)), "Z") {
			return
		}
	}
	t.Errorf("process %d still runs: %s", pid, state)
}

func TestUmaskAndFolderOfTheDaemonStay(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	before := syscall.Umask(0o022)
	defer syscall.Umask(before)
	for range 20 {
		v, err := call(t, &loader.Env{}, "cmd.run", []any{"umask; pwd"}, "umask", "077", "cwd", "/")
		if err != nil || v != "0077\n/" {
			t.Fatalf("cmd.run = %q, %v", v, err)
		}
	}
	if now := syscall.Umask(0o022); now != 0o022 {
		t.Errorf("umask is %o", now)
	}
	if now, err := os.Getwd(); now != dir || err != nil {
		t.Errorf("folder is %s, %v", now, err)
	}
}

func TestUmaskByShell(t *testing.T) {
	var out bytes.Buffer
	c := exec.Command("/bin/sh", "-c", `umask; pwd; echo "$0" "$1"`, "a b", "c")
	c.Stdout = &out
	p := place{dir: "/", mask: 0o27}
	if err := p.enterByShell(c, c.Run); err != nil || out.String() != "0027\n/\na b c\n" {
		t.Errorf("output %q, %v", out.String(), err)
	}
}

func TestLargeInputAndOutput(t *testing.T) {
	const size = 64 << 20
	in := strings.Repeat("0123456789abcdef", size/16)
	v, err := call(t, &loader.Env{},
		"cmd.run_all", []any{"cat; head -c 1000000 /dev/zero | tr '\\0' e >&2"}, "stdin", in)
	if err != nil {
		t.Fatal(err)
	}
	m := v.(*data.Map)
	if m.Text("stdout") != in || m.Text("stderr") != strings.Repeat("e", 1000000) {
		t.Errorf("got %d and %d bytes", len(m.Text("stdout")), len(m.Text("stderr")))
	}
}

// TestTuples checks that a tuple is a command as a list is: Python modules pass them.
func TestTuples(t *testing.T) {
	words := data.Tuple{"printf", "%s|", "a b"}
	r := newRegistry(t, &loader.Env{})
	v, err := r.Invoke(t.Context(), "cmd.run_all", []any{words}, nil)
	if err != nil || v.(*data.Map).Text("stdout") != "a b|" {
		t.Errorf("cmd.run_all of a tuple = %s, %v", data.Repr(v), err)
	}
	v, err = call(t, &loader.Env{}, "cmd.run", []any{data.Tuple{"echo $0", "a"}}, "python_shell", true)
	if err != nil || v != "a" {
		t.Errorf("cmd.run of a tuple in a shell = %q, %v", v, err)
	}
	_, err = r.Invoke(t.Context(), "cmd.run", []any{data.Tuple{"/nothere", "a"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "('/nothere', 'a')") {
		t.Errorf("cmd.run of a program that is not there: %v", err)
	}
	v, err = call(t, &loader.Env{}, "cmd.exec_code", []any{"sh", "echo $1"}, "args", data.Tuple{"x"})
	if err != nil || v != "" { // Salt knows lists and texts only
		t.Errorf("cmd.exec_code with a tuple = %q, %v", v, err)
	}
}

func TestRawNewlines(t *testing.T) {
	v, err := call(t, &loader.Env{}, "cmd.run", []any{"cat"}, "stdin", `a\nb`, "stdin_raw_newlines", true)
	if err != nil || v != `a\nb` {
		t.Errorf("cmd.run = %q, %v", v, err)
	}
}

func TestTerminalTimeout(t *testing.T) {
	v, err := call(t, &loader.Env{}, "cmd.run_all", []any{"echo a; echo b >&2; sleep 1000"},
		"use_vt", true, "timeout", 0.3)
	if err != nil {
		t.Fatal(err)
	}
	m := v.(*data.Map)
	if m.Text("stderr") != "SALT: Timeout after 0.3s\nb\n" || m.Value("retcode") != nil ||
		m.Text("stdout") != "a\n" {
		t.Errorf("cmd.run_all = %s", data.Repr(m))
	}
}

func TestTemplate(t *testing.T) {
	env := &loader.Env{Opts: data.NewMap("file_client", "local",
		"fileserver_backend", []any{"roots"}, "cachedir", t.TempDir(), "file_roots",
		data.NewMap("dev", []any{}), "x", "y")}
	env.Grains = func() *data.Map { return data.NewMap("os", "Debian") }
	env.Pillar = func() *data.Map { return data.NewMap("a", int64(1)) }
	for range 2 {
		v, err := call(t, env, "cmd.run",
			[]any{"echo {{ saltenv }} {{ grains.os }} {{ pillar.a }} {{ opts.x }} $(pwd)"},
			"template", "jinja", "saltenv", "dev", "cwd", "/{{ '' }}", "python_shell", true)
		if err != nil || v != "dev Debian 1 y /" {
			t.Errorf("cmd.run = %q, %v", v, err)
		}
	}
	items := loader.Plugin{Name: "pillar", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("items",
			func(_ context.Context, a itemsArgs) (any, error) {
				return data.NewMap("a", data.Str(a.Pillarenv)+" "+data.Repr(a.Pillar)), nil
			})}}, nil
	}}
	v, err := newRegistry(t, env, items).Invoke(t.Context(), "cmd.run", []any{"echo {{ pillar.a }}"},
		data.NewMap("template", "jinja", "pillar", data.NewMap("b", int64(2)), "pillarenv", "dev"))
	if err != nil || v != "dev {b: 2}" {
		t.Errorf("cmd.run with a pillar = %q, %v", v, err)
	}
	_, err = call(t, env, "cmd.run", []any{"{% bad"}, "template", "jinja")
	if !strings.HasPrefix(errorText(err), "Failed to execute cmd with error: ") ||
		!strings.Contains(errorText(err), "bad") {
		t.Errorf("err = %v", err)
	}
	_, err = call(t, env, "cmd.run", []any{"{% bad"}, "template", "jinja", "output_loglevel", "quiet")
	if errorText(err) != "Failed to execute cmd with error: REDACTED" {
		t.Errorf("err = %v", err)
	}
	_, err = call(t, env, "cmd.run", []any{"a"}, "template", "nosuch")
	if errorText(err) != "Attempted to render file paths with unavailable engine nosuch" {
		t.Errorf("err = %v", err)
	}
}

type itemsArgs struct{ Pillar, Pillarenv any }

func TestTTY(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(root+"/dev/pts", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("/dev/null", root+"/dev/tty9"),
		os.Symlink("/dev/null", root+"/dev/pts/3")); err != nil {
		t.Fatal(err)
	}
	write(t, root+"/dev/ttyfile", "kept", 0o644)
	for device, want := range map[string]string{
		"tty9":    "{'Success': 'Message was successfully echoed to /dev/tty9'}",
		"pts3":    "{'Success': 'Message was successfully echoed to /dev/pts/3'}",
		"ttyfile": "{'Error': 'Echoing to /dev/ttyfile returned error'}",
		"ttynone": "{'Error': 'Echoing to /dev/ttynone returned error'}",
	} {
		v, err := newRegistry(t, &loader.Env{Root: root}).Invoke(t.Context(),
			"cmd.tty", []any{device, "hello"}, nil)
		if err != nil || data.Repr(v) != want {
			t.Errorf("cmd.tty %s = %s, %v, want %s", device, data.Repr(v), err, want)
		}
	}
	if text, err := os.ReadFile(root + "/dev/ttyfile"); err != nil || string(text) != "kept" {
		t.Errorf("file is %q, %v", text, err)
	}
}

func TestWhich(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/onlyhere", "#!/bin/sh\n", 0o755)
	write(t, dir+"/notthis", "#!/bin/sh\n", 0o644)
	t.Setenv("PATH", "/nowhere:"+dir)
	for name, want := range map[string]string{
		"onlyhere": dir + "/onlyhere", "notthis": "", dir + "/onlyhere": dir + "/onlyhere", dir: "",
		"sh": firstOf("/sbin/sh", "/bin/sh"), "": "",
	} {
		if got := which(name); got != want {
			t.Errorf("which(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestHelpersAreNotTakenFromTheCurrentFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "onlyhere", "#!/bin/sh\n", 0o755)
	t.Setenv("PATH", ".:/bin")
	if got := which("onlyhere"); got != "onlyhere" {
		t.Errorf("which = %q, want the file as the original finds it", got)
	}
	if got := helper("onlyhere"); got != "" {
		t.Errorf("helper = %q, want none", got)
	}
}

// firstOf returns the first path that is executable.
func firstOf(paths ...string) string {
	for _, p := range paths {
		if executable(p) {
			return p
		}
	}
	return ""
}

func TestShellInfo(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/zsh", "#!/bin/sh\necho 'zsh 5.9.1.7 (x86_64)'\n", 0o755)
	write(t, dir+"/tcsh", "#!/bin/sh\necho 'tcsh of old'\n", 0o755)
	write(t, dir+"/php", "#!/bin/sh\necho 'PHP 8 (cli)' >&2; exit 1\n", 0o755)
	t.Setenv("PATH", dir+":/bin:/usr/bin")
	for shell, want := range map[string]string{
		"zsh": "{'installed': True, 'path': '" + dir + "/zsh', 'version_raw': '5.9.1.7', 'version': '5.9.1'}",
		"php": "{'installed': True, 'path': '" + dir + "/php', 'version_raw': '8', 'version': '8.0'}",
		"tcsh": "{'installed': None, 'path': '" + dir +
			"/tcsh', 'error': 'The version regex pattern for shell tcsh, could not find " +
			"the version string', 'stdout': 'tcsh of old\\n'}",
	} {
		v, err := newRegistry(t, &loader.Env{}).Invoke(t.Context(), "cmd.shell_info", []any{shell}, nil)
		if err != nil || data.Repr(v) != want {
			t.Errorf("cmd.shell_info %s = %s, %v\nwant %s", shell, data.Repr(v), err, want)
		}
	}
}

func TestScriptFromTheFileServer(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/cached", "#!/bin/sh\necho \"$0\" | sed 's/.*\\(\\....\\)$/\\1/'\n", 0o644)
	var asked []any
	cp := loader.Plugin{Name: "cp", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{loader.F("cache_file",
			func(_ context.Context, a cacheArgs) (any, error) {
				asked = []any{a.Path, a.Saltenv}
				if a.Path == "salt://none.sh" {
					return false, nil
				}
				return dir + "/cached", nil
			}), loader.F("get_template", func(_ context.Context, a templateArgs) (any, error) {
			return a.Dest, os.WriteFile(a.Dest,
				[]byte("#!/bin/sh\necho "+a.Template+" "+data.Str(a.More.Value("context"))+"\n"), 0)
		})}}, nil
	}}
	r := newRegistry(t, &loader.Env{Opts: data.NewMap("saltenv", "prod")}, cp)
	v, err := r.Invoke(t.Context(), "cmd.script", []any{"salt://run.bat?saltenv=dev"}, nil)
	if m, ok := v.(*data.Map); err != nil || !ok || m.Text("stdout") != ".bat" {
		t.Errorf("cmd.script = %s, %v", data.Repr(v), err)
	}
	if data.Repr(asked) != "['salt://run.bat?saltenv=dev', 'prod']" {
		t.Errorf("asked for %s", data.Repr(asked))
	}
	v, err = r.Invoke(t.Context(), "cmd.script", []any{"salt://none.sh"}, nil)
	if want := "{'pid': 0, 'retcode': 1, 'stdout': '', 'stderr': '', 'cache_error': True}"; err != nil || data.Repr(v) != want {
		t.Errorf("cmd.script of a missing file = %s, %v", data.Repr(v), err)
	}
	v, err = r.Invoke(t.Context(), "cmd.script", []any{"salt://a.sh"},
		data.NewMap("template", "jinja", "context", "ctx"))
	if m, ok := v.(*data.Map); err != nil || !ok || m.Text("stdout") != "jinja ctx" {
		t.Errorf("cmd.script with a template = %s, %v", data.Repr(v), err)
	}
}

type cacheArgs struct{ Path, Saltenv string }

type templateArgs struct {
	Path, Dest, Template, Saltenv string
	More                          *data.Map `kwargs:"kwargs"`
}

func TestScriptWithoutFileClient(t *testing.T) {
	for source, want := range map[string]string{
		"salt://a.sh":    "a script of scheme 'salt' needs cp.cache_file, which is not available",
		"https://x/a.sh": "a script of scheme 'https' needs cp.cache_file, which is not available",
		"a.sh":           "Path 'a.sh' is not absolute",
	} {
		if _, err := call(t, &loader.Env{}, "cmd.script", []any{source}); errorText(err) != want {
			t.Errorf("cmd.script %s: %v, want %s", source, err, want)
		}
	}
	_, err := call(t, &loader.Env{}, "cmd.script_retcode", []any{"/etc/passwd"})
	if want := "template 'jinja' of a script needs cp.get_template, which is not available"; errorText(err) != want {
		t.Errorf("cmd.script_retcode: %v, want %s", err, want)
	}
}

func TestNoFilesAreLeft(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	src := filepath.Join(t.TempDir(), "x.sh")
	write(t, src, "exit 0\n", 0o644)
	for _, fun := range []string{"cmd.exec_code", "cmd.exec_code_all", "cmd.script"} {
		args := []any{"sh", "stat -c %a \"$0\" || stat -f %Lp \"$0\""}
		if fun == "cmd.script" {
			args = []any{src}
		}
		if v, err := call(t, &loader.Env{}, fun, args); err != nil || fun == "cmd.exec_code" && v != "600" {
			t.Errorf("%s = %s, %v", fun, data.Repr(v), err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestRunChroot(t *testing.T) {
	root := t.TempDir()
	bin := t.TempDir()
	write(t, bin+"/chroot", "#!/bin/sh\nfor w; do echo \"[$w]\"; done\n", 0o755)
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	var calls []string
	note := func(name string) func(context.Context, mountArgs) (any, error) {
		return func(_ context.Context, a mountArgs) (any, error) {
			calls = append(calls, name+" "+strings.TrimPrefix(a.Name, root)+" "+a.Device+" "+a.Fstype+a.Opts)
			return true, nil
		}
	}
	mount := loader.Plugin{Name: "mount", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("mount", note("mount")), loader.F("umount", note("umount")),
		}}, nil
	}}
	r := newRegistry(t, &loader.Env{Root: t.TempDir()}, mount)
	v, err := r.Invoke(t.Context(), "cmd.run_chroot", []any{root, []any{"echo", "it's"}},
		data.NewMap("binds", []any{"/srv/x"}, "runas", "web", "group", "www"))
	m, ok := v.(*data.Map)
	want := "[--userspec]\n[web:www]\n[" + root + "]\n[/bin/sh]\n[-c]\n[echo it's]"
	if err != nil || !ok || m.Text("stdout") != want {
		t.Errorf("cmd.run_chroot = %s, %v", data.Repr(v), err)
	}
	wantCalls := "mount /dev devtmpfs devtmpfs,mount /proc proc proc,mount /sys sysfs sysfs,mount /srv/x /srv/x default,bind," +
		"umount /srv/x  ,umount /sys  ,umount /proc  ,umount /dev  "
	if got := strings.Join(calls, ","); got != wantCalls {
		t.Errorf("mounts\n got %s\nwant %s", got, wantCalls)
	}
}

type mountArgs struct {
	Name   string
	Device string `default:"''"`
	Fstype string `default:"''"`
	Opts   string `default:"''"`
}

func TestProcessesInARoot(t *testing.T) {
	sys := t.TempDir()
	for pid, root := range map[string]string{"10": "/srv/ct", "11": "/srv/ct/deep",
		"12": "/srv/ct2", "13": "/"} {
		if err := os.MkdirAll(sys+"/proc/"+pid, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(root, sys+"/proc/"+pid+"/root"); err != nil {
			t.Fatal(err)
		}
	}
	m := chroots{commands{env: &loader.Env{Root: sys}}}
	for root, want := range map[string]string{"/srv/ct": "[10,11]", "/srv/ct/": "[10,11]",
		"/": "null", "srv": "null"} {
		if got, err := json.Marshal(m.inRoot(root)); err != nil || string(got) != want {
			t.Errorf("inRoot(%q) = %s, %v, want %s", root, got, err, want)
		}
	}
}

func TestPowershell(t *testing.T) {
	for _, tt := range []struct {
		name    string
		r       request
		wantCmd string
	}{
		{"a line", request{cmd: ` dir "x" `, shell: "/opt/powershell"},
			`/opt/powershell -NonInteractive -NoProfile -Command "dir \"x\""`},
		{"words", request{cmd: []any{"dir", "x"}, shell: "pwsh"},
			`pwsh -NonInteractive -NoProfile -Command "dir x"`},
		{"encoded", request{cmd: "QQ==", shell: "pwsh", encoded: true},
			`pwsh -NonInteractive -NoProfile -EncodedCommand QQ==`},
		{"a script", request{cmd: "/x.ps1 -a", shell: "pwsh", script: true},
			`pwsh -NonInteractive -NoProfile -ExecutionPolicy Bypass -Command /x.ps1 -a`},
		{"another shell", request{cmd: " x ", shell: "/bin/sh"}, " x "},
	} {
		j := &job{request: &tt.r, cmd: tt.r.cmd}
		if err := forPowershell(t.Context(), j); err != nil || j.cmd != tt.wantCmd {
			t.Errorf("%s: %v, %v, want %s", tt.name, j.cmd, err, tt.wantCmd)
		}
	}
	if got := encodeUTF16("aé"); got != "YQDpAA==" {
		t.Errorf("encodeUTF16 = %s", got)
	}
	v, err := fromJSON(`{"b": [1, 2.5, null, true], "a": {"x": "y"}}`)
	if err != nil || data.Repr(v) != "{'b': [1, 2.5, None, True], 'a': {'x': 'y'}}" {
		t.Errorf("fromJSON = %s, %v", data.Repr(v), err)
	}
	for _, bad := range []string{"{", "[1", "{} x", "nope", `{"a"}`} {
		if v, err := fromJSON(bad); err == nil {
			t.Errorf("fromJSON(%q) = %s", bad, data.Repr(v))
		}
	}
}

func TestMacLogin(t *testing.T) {
	j := &job{request: &request{runas: "nobody"}, cmd: []any{"echo", "it's"}, cwd: "/tmp dir"}
	m := logins{users: users{newRegistry(t, &loader.Env{}).Env()}}
	m.wrapInLogin(t.Context(), j)
	want := `su -l nobody -c 'cd -- '"'"'/tmp dir'"'"' && { echo '"'"'it'"'"'"'"'"'"'"'"'s'"'"'` + "\n }'"
	if j.cmd != want || j.runas != "" {
		t.Errorf("command\n%v\nwant\n%s", j.cmd, want)
	}
}

func TestLoginWords(t *testing.T) {
	m := logins{shell: "/bin/bash"}
	if runtime.GOOS != "linux" {
		need.Missing(t, "needs Linux: su(1) takes other arguments elsewhere")
	}
	for want, r := range map[string]request{
		"su -s /bin/bash - web -c SCRIPT":            {runas: "web", shell: "/bin/bash"},
		"sudo -u web -g www -i -- /bin/sh -c SCRIPT": {runas: "web", group: "www", shell: "/bin/bash"},
		"sudo -g www -s -- /bin/zsh -c SCRIPT":       {group: "www", shell: "/bin/zsh"},
		"sudo -u web -g www -s -- /usr/bin/dash -c SCRIPT": {runas: "web", group: "www",
			shell: "/usr/bin/dash"},
	} {
		if got := strings.Join(m.loginWords(&job{request: &r}, "SCRIPT"), " "); got != want {
			t.Errorf("loginWords = %s, want %s", got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"", "a\xff", "\xe2\x82x", "\xf0\x9f\x98", "\xed\xa0\x80", "\xf4\x90\x80\x80"} {
		f.Add(s, "utf-8")
		f.Add(s, "cp1252")
		f.Add(s, "utf-16")
		f.Add(s, "shift_jis")
	}
	f.Fuzz(func(t *testing.T, s, name string) {
		text, clean, err := decodeText(s, name)
		if err == nil && strings.ToValidUTF8(text, "") != text {
			t.Errorf("decodeText(%q, %q) = %q, %v", s, name, text, clean)
		}
	})
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`a "b c" 'd' \e`)
	f.Add(`'`)
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "")
		if words, err := splitWords(quoteWord(s)); err != nil || len(words) != 1 || words[0] != s {
			t.Errorf("splitWords(quoteWord(%q)) = %q, %v", s, words, err)
		}
		_, _ = splitWords(s)
	})
}

func BenchmarkRun(b *testing.B) {
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin(render.Brought{})})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.Invoke(b.Context(), "cmd.run", []any{"true"}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRunOutput64MB(b *testing.B) {
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin(render.Brought{})})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(64 << 20)
	b.ReportAllocs()
	for b.Loop() {
		v, err := r.Invoke(b.Context(), "cmd.run", []any{"head -c 67108864 /dev/zero"}, nil)
		if err != nil || len(v.(string)) != 64<<20 {
			b.Fatal(err)
		}
	}
}

// TestRedirectStderr checks that cmd.run leaves standard error out on request, and so does cmd.shell,
// which passes the keyword on.
func TestRedirectStderr(t *testing.T) {
	r := newRegistry(t, &loader.Env{})
	for _, fun := range []string{"cmd.run", "cmd.shell"} {
		for _, c := range []struct {
			kwargs *data.Map
			want   string
		}{
			{data.NewMap("python_shell", true), "outerr"},
			{data.NewMap("python_shell", true, "redirect_stderr", true), "outerr"},
			{data.NewMap("python_shell", true, "redirect_stderr", false), "out"},
		} {
			if fun == "cmd.shell" {
				c.kwargs.Delete("python_shell")
			}
			got, err := r.Invoke(t.Context(), fun, []any{"printf out; printf err >&2"}, c.kwargs)
			if err != nil || got != c.want {
				t.Errorf("%s %s = %v, %v, want %q", fun, data.Repr(c.kwargs), got, err, c.want)
			}
		}
	}
}
