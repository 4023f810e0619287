package process

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// watcher is a Note made of functions.
type watcher struct {
	started func(pid int)
	ended   func()
}

func (w watcher) Started(pid int) { w.started(pid) }
func (w watcher) Ended()          { w.ended() }

// gapCommand returns a program that writes its process id to a fifo and then waits.
func gapCommand(name, dir string) *exec.Cmd {
	tell := "echo $$ >" + filepath.Join(dir, "pid")
	wait := tell + "; read x <" + filepath.Join(dir, "never")
	switch name {
	case "a script":
		return exec.Command(filepath.Join(dir, "script"), "a", "")
	case "a program that replaces itself": // keeps neither arguments nor environment
		cmd := exec.Command("sh", "-c", `exec env -i /bin/sh -c "$1"`, "sh", wait)
		cmd.Stdout = &bytes.Buffer{}
		return cmd
	case "a program of which the output goes elsewhere":
		cmd := exec.Command("sh", "-c", "exec >/dev/null 2>&1; "+wait)
		cmd.Stdout, cmd.Stdin = &bytes.Buffer{}, nil
		return cmd
	}
	return exec.Command("sh", "-c", wait)
}

// killedInGap starts a program and kills this process before its note can be written.
func killedInGap(dir, name string) {
	tree := NewTree()
	tree.Watch(func(i Intent, err error) Note {
		if err != nil || os.WriteFile(filepath.Join(dir, "intent"), []byte(i.String()), 0o600) != nil {
			os.Exit(1)
		}
		return watcher{started: func(int) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}}
	})
	_ = Run(WithTree(context.Background(), tree), gapCommand(name, dir))
	os.Exit(1)
}

func TestFindLeftFindsProgramStartedBeforeKill(t *testing.T) {
	if dir, name, ok := strings.Cut(os.Getenv("BRINE_TEST_GAP"), ","); ok {
		killedInGap(dir, name)
	}
	for _, name := range []string{"a program", "a script", "a program that replaces itself",
		"a program of which the output goes elsewhere"} {
		t.Run(name, func(t *testing.T) {
			dir := gapDir(t)
			intent, pid := leftInGap(t, dir, name)
			checkFound(t, intent, pid)
			checkOthers(t, intent, pid)
			EndLeft(FindLeft([]Intent{intent}, nil), nobody)
			if !table().ended(pid) {
				t.Errorf("process %d runs on", pid)
			}
		})
	}
}

func gapDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"pid", "never"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh -e\necho $$ >" + dir + "/pid\nread x <" + dir + "/never\n"
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// leftInGap has another process start a program and be killed before it records that.
func leftInGap(t *testing.T, dir, name string) (Intent, int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFindLeftFindsProgramStartedBeforeKill$")
	cmd.Env = append(os.Environ(), "BRINE_TEST_GAP="+dir+","+name)
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the process that was to be killed: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "intent"))
	if err != nil {
		t.Fatal(err)
	}
	intent, err := ParseIntent(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return intent, readPID(t, dir)
}

func readPID(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-pid, syscall.SIGKILL) }) // it has ended, if all is well
	return pid
}

func checkFound(t *testing.T, intent Intent, pid int) {
	t.Helper()
	want, err := MarkOf(pid)
	if found := FindLeft([]Intent{intent}, nil); err != nil || len(found) != 1 || found[0] != want {
		t.Fatalf("found %v, want %v (%v)", found, want, err)
	}
	if found := FindLeft([]Intent{intent, intent}, nil); len(found) != 1 {
		t.Errorf("found %v for two intents", found)
	}
	if found := FindLeft([]Intent{intent}, []Mark{want}); len(found) != 0 {
		t.Errorf("found %v again", found)
	}
}

// checkOthers checks that one differing attribute makes a program not match.
func checkOthers(t *testing.T, intent Intent, pid int) {
	t.Helper()
	all := table()
	start := all[pid].start
	for name, change := range map[string]func(*Intent, *stat){
		"started before":        func(i *Intent, _ *stat) { i.moment = start + 1 },
		"started long after":    func(i *Intent, _ *stat) { i.moment = start - 10*ticks - 1 },
		"of another user":       func(i *Intent, _ *stat) { i.uid++ },
		"other command":         func(i *Intent, _ *stat) { i.argv, i.script, i.pipes = i.argv[1:], i.script[1:], "" },
		"no head of a group":    func(_ *Intent, p *stat) { p.group = 1 },
		"no head of a session":  func(_ *Intent, p *stat) { p.session = 1 },
		"forked off":            func(_ *Intent, p *stat) { p.flags |= forkNoExec },
		"started by one who is": func(_ *Intent, p *stat) { p.parent = os.Getpid() },
		"ended":                 func(_ *Intent, p *stat) { p.state = 'Z' },
	} {
		i, p := intent, all[pid]
		change(&i, &p)
		s := search{all: processes{pid: p}, adopter: adopter}
		if s.program(i) != 0 {
			t.Errorf("%s: process is taken for the program", name)
		}
	}
	s := search{all: processes{pid: all[pid]}, adopter: adopter}
	if s.program(intent) != pid {
		t.Errorf("process %d is not found", pid)
	}
	intent.boot = "0" + intent.boot
	if found := FindLeft([]Intent{intent}, nil); len(found) != 0 {
		t.Errorf("found %v for an intent of before the restart of the host", found)
	}
}

func TestFindLeftIgnoresOtherPrograms(t *testing.T) {
	dir := gapDir(t)
	cmd := gapCommand("a program", dir)
	setGroup(cmd)
	intent, err := newIntent(cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Start(cmd); err != nil {
		t.Fatal(err)
	}
	pid := readPID(t, dir)
	if !intent.hasArgs(pid) || !intent.began(table()[pid]) {
		t.Fatal("the program does not look like the one that was meant")
	}
	if found := FindLeft([]Intent{intent}, nil); len(found) != 0 {
		t.Errorf("found %v, of which the starter lives", found)
	}
}

func TestAdopter(t *testing.T) {
	pid := adopter()
	if s, err := readStat(pid); err != nil || pid == os.Getpid() ||
		!table().inSession(s.session, os.Getpid()) && pid != 1 {
		t.Errorf("process %d adopts orphans (%v)", pid, err)
	}
}

func TestWatchReportsProgramThatCannotStart(t *testing.T) {
	tree, said := NewTree(), []string{}
	tree.Watch(func(i Intent, err error) Note {
		if parsed, parseErr := ParseIntent(i.String()); err != nil || parseErr != nil || parsed != i {
			t.Errorf("intent %v is read as %v (%v, %v)", i, parsed, err, parseErr)
		}
		said = append(said, "meant")
		return watcher{func(int) { said = append(said, "started") }, func() { said = append(said, "ended") }}
	})
	ctx := WithTree(t.Context(), tree)
	if err := Run(ctx, exec.Command("/nowhere/to/be/found")); err == nil {
		t.Error("a program that is not there was run")
	}
	if err := Run(ctx, exec.Command("true")); err != nil {
		t.Error(err)
	}
	if got := strings.Join(said, " "); got != "meant ended meant started ended" {
		t.Errorf("the watcher heard %s", got)
	}
}

func FuzzParseIntent(f *testing.F) {
	cmd := exec.Command("true")
	intent, err := newIntent(cmd, []*os.File{os.Stdin, os.Stdout})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{intent.String(), "intent-1-2---3-4-5", "intent-------", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		i, err := ParseIntent(s)
		if err == nil && (i.String() != s || strings.ContainsAny(s, "/.\x00")) {
			t.Errorf("ParseIntent(%q) = %+v", s, i)
		}
	})
}
