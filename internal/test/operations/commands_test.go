//go:build linux

package operations

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

type command = func(ts *testscript.TestScript, neg bool, args []string)

func commands() map[string]command {
	return map[string]command{
		"start": cmdStart, "ready": cmdReady, "signal": cmdSignal, "reload": cmdReload,
		"exits": cmdExits, "adopt": cmdAdopt, "below": cmdBelow,
		"logs": said("logs", func(p *process) *lines { return &p.said }),
		"told": said("told", func(p *process) *lines { return &p.told }), "count": cmdCount,
		"try": cmdTry, "until": cmdUntil, "holds": cmdHolds, "exists-soon": fileSoon(true),
		"gone-soon": fileSoon(false), "set": cmdSet, "as": cmdAs, "own": cmdOwn, "mode": cmdMode,
		"ask": cmdAsk, "hear": cmdHear, "heard": cmdHeard, "newminion": cmdNewMinion,
	}
}

func of(ts *testscript.TestScript) *script { return ts.Value("script").(*script) }

func need(ts *testscript.TestScript, args []string, least int, usage string) {
	if len(args) < least {
		ts.Fatalf("usage: %s", usage)
	}
}

// process returns the daemon of a name.
func named(ts *testscript.TestScript, name string) *process {
	p := of(ts).processes[name]
	if p == nil {
		ts.Fatalf("no daemon %s was started", name)
	}
	return p
}

// environment is that of the script.
func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "WATCHDOG_USEC", "SALT_MASTER_CONFIG"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func cmdStart(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 2, "start NAME PROGRAM ARG...")
	s := of(ts)
	if old := s.processes[args[0]]; old != nil && !old.hasEnded() {
		ts.Fatalf("%s runs already", args[0])
	}
	p, err := startProcess(args[0], args[1:], ts.MkAbs("."), environment(ts), s.as)
	ts.Check(err)
	s.processes[args[0]] = p
}

func cmdReady(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 1, "ready NAME")
	if p := named(ts, args[0]); !p.ready() {
		ts.Fatalf("%s is not ready:\n%s\ntold: %s", args[0], p.said.brief(), p.told.String())
	}
}

func cmdSignal(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 2, "signal SIG NAME")
	ts.Check(syscall.Kill(named(ts, args[1]).pid, unix.SignalNum("SIG"+args[0])))
}

func cmdReload(ts *testscript.TestScript, _ bool, args []string) {
	cmdSignal(ts, false, []string{"HUP", args[0]})
	cmdReady(ts, false, args)
}

func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 2, "exits NAME CODE")
	p := named(ts, args[0])
	if !until(p.hasEnded) {
		ts.Fatalf("%s does not end:\n%s", args[0], p.said.brief())
	}
	if code := codeOf(p.cmd.ProcessState); strconv.Itoa(code) != args[1] {
		ts.Fatalf("%s exits with %d, want %s:\n%s", args[0], code, args[1], p.said.brief())
	}
}

// codeOf returns the exit code as a shell reports it.
func codeOf(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

func cmdAdopt(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 2, "adopt NAME FILE")
	pid, err := strconv.Atoi(ts.ReadFile(args[1]))
	ts.Check(err)
	named(ts, args[0]).pid = pid
}

// cmdBelow makes the only child of a process the daemon of its name: process 1 in the namespace of
// unshare(1).
func cmdBelow(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 1, "below NAME")
	p := named(ts, args[0])
	child, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", p.pid))
	ts.Check(err)
	p.pid, err = strconv.Atoi(strings.TrimSpace(string(child)))
	ts.Check(err)
}

func matcher(ts *testscript.TestScript, pattern string) *regexp.Regexp {
	re, err := regexp.Compile("(?m)" + pattern)
	ts.Check(err)
	return re
}

func said(name string, what func(*process) *lines) command {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		need(ts, args, 2, name+" NAME PATTERN")
		text, re := what(named(ts, args[0])), matcher(ts, args[1])
		match := func() bool { return re.MatchString(text.String()) }
		switch {
		case neg && match():
			ts.Fatalf("%s has said %s:\n%s", args[0], args[1], text.brief())
		case !neg && !until(match):
			ts.Fatalf("%s has not said %s:\n%s", args[0], args[1], text.brief())
		}
	}
}

func cmdCount(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 3, "count N NAME PATTERN")
	text := &named(ts, args[1]).said
	if n := len(matcher(ts, args[2]).FindAllString(text.String(), -1)); strconv.Itoa(n) != args[0] {
		ts.Fatalf("%s has said %s %d times, want %s:\n%s", args[1], args[2], n, args[0], text.brief())
	}
}

// run runs a program to its end.
func run(ts *testscript.TestScript, argv []string) (out, errs string, code int) {
	path, err := exec.LookPath(argv[0])
	ts.Check(err)
	var stdout, stderr bytes.Buffer
	cmd := &exec.Cmd{Path: path, Args: argv, Dir: ts.MkAbs("."), Env: environment(ts),
		Stdout: &stdout, Stderr: &stderr,
		SysProcAttr: &syscall.SysProcAttr{Credential: of(ts).as, Setpgid: true}}
	ts.Check(cmd.Start())
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its state is looked at
		close(ended)
	}()
	if !until(func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	}) {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		ts.Fatalf("%s does not end:\n%s%s", strings.Join(argv, " "), stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String(), codeOf(cmd.ProcessState)
}

func cmdTry(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 2, "try CODE PROGRAM ARG...")
	out, errs, code := run(ts, args[1:])
	fmt.Fprint(ts.Stdout(), out)
	fmt.Fprint(ts.Stderr(), errs)
	ts.Logf("%s%s", out, errs)
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func cmdUntil(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 2, "until PATTERN PROGRAM ARG...")
	re, last := matcher(ts, args[0]), ""
	if !until(func() bool {
		out, errs, _ := run(ts, args[1:])
		last = out + errs
		return re.MatchString(last)
	}) {
		ts.Fatalf("%s never says %s:\n%s", strings.Join(args[1:], " "), args[0], last)
	}
	fmt.Fprint(ts.Stdout(), last)
}

func cmdHolds(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, args, 2, "holds FILE PATTERN")
	re := matcher(ts, args[1])
	var text []byte
	match := func() bool {
		text, _ = os.ReadFile(ts.MkAbs(args[0])) // a file that is not there holds nothing
		return re.Match(text)
	}
	switch {
	case neg && match():
		ts.Fatalf("%s holds %s:\n%s", args[0], args[1], text)
	case !neg && !until(match):
		ts.Fatalf("%s does not hold %s:\n%s", args[0], args[1], text)
	}
}

func fileSoon(want bool) command {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		for _, name := range args {
			if !until(func() bool {
				_, err := os.Lstat(ts.MkAbs(name))
				return errors.Is(err, fs.ErrNotExist) != want
			}) {
				ts.Fatalf("%s: there %t, want %t", name, !want, want)
			}
		}
	}
}

// cmdSet replaces the line of an option, or adds one. The file is replaced atomically, as editors
// do.
func cmdSet(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 3, "set FILE OPTION VALUE")
	file := ts.MkAbs(args[0])
	text := without(ts.ReadFile(args[0]), args[1]) + args[1] + ": " + args[2] + "\n"
	ts.Check(os.WriteFile(file+".new", []byte(text), 0o644))
	ts.Check(os.Rename(file+".new", file))
}

// without returns a configuration without an option of one line.
func without(text, option string) string {
	return strings.Join(slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, option+":")
	}), "")
}

func account(ts *testscript.TestScript, name string) *syscall.Credential {
	u, err := user.Lookup(name)
	ts.Check(err)
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	ts.Check(err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	ts.Check(err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func cmdAs(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 1, "as USER")
	of(ts).as = account(ts, args[0])
}

func cmdOwn(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 2, "own USER PATH...")
	who := account(ts, args[0])
	for _, path := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(path), func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, int(who.Uid), int(who.Gid)))
		}))
	}
}

func cmdMode(ts *testscript.TestScript, _ bool, args []string) {
	need(ts, args, 2, "mode FILE MODE [USER]")
	info, err := os.Lstat(ts.MkAbs(args[0]))
	ts.Check(err)
	if mode := fmt.Sprintf("%04o", info.Mode().Perm()); mode != args[1] {
		ts.Fatalf("%s: mode %s, want %s", args[0], mode, args[1])
	}
	if len(args) > 2 {
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != account(ts, args[2]).Uid {
			ts.Fatalf("%s: owner %d, want %s", args[0], owner.Uid, args[2])
		}
	}
}
