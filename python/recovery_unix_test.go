//go:build unix

package python_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/python"
)

// TestIdleWorkerDies checks that a job whose worker ends between two calls gets another one.
func TestIdleWorkerDies(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": living})
	j := d.begin(t)
	defer j.end()
	worker := j.call("own.worker")
	pid, err := strconv.Atoi(strings.Trim(worker, "'"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitGone(t, "the idle worker", worker)
	if got := j.call("own.worker"); got == worker || strings.HasPrefix(got, "error") {
		t.Errorf("after worker %s has ended the worker is %s", worker, got)
	}
}

// TestFullTableKeepsTemplate checks that a template stays when Go can open no more files.
func TestFullTableKeepsTemplate(t *testing.T) {
	d := newDaemon(t, map[string]string{"own": living})
	template := d.job(t, "own.template")
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	got := d.job(t, "own.template")
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "too many open files") {
		t.Errorf("without files: %s", got)
	}
	d.want(t, template, "own.template")
}

// TestFailedStartIsTriedAgain checks that a file counts as soon as Python can start, without a
// reload.
func TestFailedStartIsTriedAgain(t *testing.T) {
	path := os.Getenv("PATH")
	d := newDaemon(t, map[string]string{"own": "def f():\n    return 1\n"})
	t.Setenv("PATH", t.TempDir())
	d.job(t, "own.f")
	if got := d.functions.MissingText("own.f"); !strings.Contains(got, "no python3 was found") {
		t.Errorf("without python3: %s", got)
	}
	t.Setenv("PATH", path)
	d.want(t, "1", "own.f")
}

// TestDirectoriesAboveTheProgram checks that the host program is not run from below a directory that
// others can change, and that a link in place of a lock is not followed.
func TestDirectoriesAboveTheProgram(t *testing.T) {
	cache := t.TempDir()
	chmod(t, cache, 0o755)
	options := func(o *python.Options) { o.CacheDir = cache }
	other := filepath.Join(cache, "python", "0123456789abcdef")
	if err := os.MkdirAll(other, 0o755); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(t.TempDir(), "target")
	if err := os.Symlink(target, filepath.Join(other, "lock")); err != nil {
		t.Fatal(err)
	}
	d := newDaemon(t, map[string]string{"own": living}, options)
	if got := d.job(t, "own.worker"); strings.HasPrefix(got, "error") {
		t.Errorf("own.worker = %s", got)
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("the target of a link in place of a lock was made")
	}
	chmod(t, cache, 0o777)
	d = newDaemon(t, map[string]string{"own": living}, options)
	d.job(t, "own.worker")
	if got, want := d.functions.MissingText("own.worker"), cache+" has mode 0777"; !strings.Contains(got, want) {
		t.Errorf("%s\nwant it to contain %s", got, want)
	}
}

// TestLibraryIsJudged checks that neither a Python nor a Salt is used that others can change, and
// what a Python that is asked inherits.
func TestLibraryIsJudged(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "secret")
	dir := t.TempDir()
	chmod(t, dir, 0o755)
	program := filepath.Join(dir, "python3")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho 1$NOTIFY_SOCKET\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	salt := filepath.Join(dir, "salt")
	(&daemon{dir: salt}).write(t, map[string]string{"__init__": ""})
	if err := os.WriteFile(filepath.Join(salt, "_version.txt"), []byte("3006.18\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ option, change, version string }{
		{program, "", "1"}, {program, program, ""}, {dir, "", "3006.18"}, {dir, salt, ""}, {dir, dir, ""},
	} {
		for _, path := range []string{dir, program, salt} {
			chmod(t, path, 0o755)
		}
		want := ""
		if tt.change != "" {
			chmod(t, tt.change, 0o777)
			want = "option python_salt: " + tt.change + " has mode 0777"
		}
		found, err := python.FindLibrary(t.Context(), tt.option, "/bin/sh")
		switch {
		case want == "" && (err != nil || found.Version != tt.version):
			t.Errorf("%s: %v, %v", tt.option, found, err)
		case want != "" && !strings.HasPrefix(fmt.Sprint(err), want):
			t.Errorf("%s with %s open: %v, want %s…", tt.option, tt.change, err, want)
		}
	}
}

// TestSlowSaltEnds checks that an installed Salt whose loader does not end is given up.
func TestSlowSaltEnds(t *testing.T) {
	dir := t.TempDir()
	(&daemon{dir: filepath.Join(dir, "salt")}).write(t, map[string]string{"__init__": "",
		"config": "DEFAULT_MINION_OPTS = {}\n",
		"loader": "import time\n\ndef utils(opts):\n    time.sleep(1000)\n\nminion_mods = None\n"})
	d := newDaemon(t, map[string]string{"own": living}, func(o *python.Options) {
		o.Load = 2 * time.Second
		o.Library = func() *python.Library { return &python.Library{Interpreter: "python3", Path: dir} }
	})
	files := d.host.Files("modules", d.functions.Env(), nil)
	d.functions.Extend(d.host.Shelf(files))
	d.functions.MissingText("no.such")
	if got, want := d.log.String(), "its import takes longer than 2s"; !strings.Contains(got, want) {
		t.Errorf("the log has %s, want %s", got, want)
	}
}

// TestLogHasALimit checks that a job logs no more than 10,000 records.
func TestLogHasALimit(t *testing.T) {
	need.Time(t, "many records")
	d := newDaemon(t, map[string]string{"own": `
import logging

def logs():
    log = logging.getLogger(__name__)
    for n in range(10100):
        log.warning("record")
    return "logged"
`}, func(o *python.Options) { o.Level = logrus.InfoLevel })
	d.want(t, "'logged'", "own.logs")
	if got := strings.Count(d.log.String(), "msg=record"); got != 10000 {
		t.Errorf("the log has %d records, want 10000", got)
	}
	if !strings.Contains(d.log.String(), "log more than 10000 records") {
		t.Error("the log does not report that records are dropped")
	}
}
