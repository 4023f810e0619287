package logging

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRotationIsPythons(t *testing.T) {
	for _, v := range readVectors(t).Rotations {
		folder := t.TempDir()
		log, _ := newLog(t, Settings{File: filepath.Join(folder, "log"), FileFormat: "%(message)s",
			RotateBytes: v.Bytes, RotateBackups: v.Backups})
		for _, line := range v.Lines {
			log.Error(line)
		}
		if diff := cmp.Diff(v.Want, readFolder(t, folder)); diff != "" {
			t.Errorf("%d bytes, %d backups: Python has - and not +\n%s", v.Bytes, v.Backups, diff)
		}
	}
}

func readFolder(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		files[e.Name()] = readText(t, filepath.Join(folder, e.Name()))
	}
	return files
}

// TestEmptyFileIsNotRotated follows Python from 3.11.9 on.
func TestEmptyFileIsNotRotated(t *testing.T) {
	folder := t.TempDir()
	log, _ := newLog(t, Settings{File: filepath.Join(folder, "log"), FileFormat: "%(message)s",
		RotateBytes: 5, RotateBackups: 2})
	log.Error("longer than that")
	if diff := cmp.Diff(map[string]string{"log": "longer than that\n"}, readFolder(t, folder)); diff != "" {
		t.Error(diff)
	}
}

func TestRotationThatFailsLosesNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "log")
	if err := os.MkdirAll(filepath.Join(path+".1", "not empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	log, _ := newLog(t, Settings{File: path, FileFormat: "%(message)s", RotateBytes: 5, RotateBackups: 1})
	for range 3 {
		log.Error("line")
	}
	wantText(t, "file", readText(t, path), "line\nline\nline\n")
}

func TestFileThatWasMovedIsMadeAgainWithinASecond(t *testing.T) {
	path := logPath(t)
	synctest.Test(t, func(t *testing.T) {
		log, _ := newLog(t, Settings{File: path, FileFormat: "%(message)s"})
		log.Error("one")
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		log.Error("two")
		time.Sleep(time.Second)
		log.Error("three")
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		log.Error("four")
		wantText(t, "file", readText(t, path), "four\n")
	})
}

func TestFileThatIsReplacedIsLeft(t *testing.T) {
	path := logPath(t)
	synctest.Test(t, func(t *testing.T) {
		log, _ := newLog(t, Settings{File: path, FileFormat: "%(message)s"})
		log.Error("one")
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("by logrotate\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		log.Error("two")
		wantText(t, "old", readText(t, path+".1"), "one\n")
		wantText(t, "new", readText(t, path), "by logrotate\ntwo\n")
	})
}

func TestLostLinesAreToldOfOnce(t *testing.T) {
	log, console := newLog(t, Settings{ConsoleFormat: "%(levelname)s %(message)s"})
	console.fail(syscall.ENOSPC)
	for range 3 {
		log.Error("lost")
	}
	console.fail(nil)
	log.Error("kept")
	log.Error("kept")
	wantText(t, "console", console.take(),
		"WARNING Log lines lost before this one: 3 (no space left on device)\nERROR kept\nERROR kept\n")
}

// tearing writes half of the first line.
type tearing struct {
	strings.Builder
	torn bool
}

func (w *tearing) Write(b []byte) (int, error) {
	if w.torn {
		return w.Builder.Write(b)
	}
	w.torn = true
	n, _ := w.Builder.Write(b[:len(b)/2])
	return n, syscall.ENOSPC
}

func TestLineAfterATornOneStandsAlone(t *testing.T) {
	w := &tearing{}
	log, err := New(Settings{ConsoleFormat: "%(message)s"}, Options{Console: w})
	if err != nil {
		t.Fatal(err)
	}
	log.Error("abcdefg")
	log.Error("next")
	wantText(t, "console", w.String(),
		"abcd\nLog lines lost before this one: 1 (no space left on device)\nnext\n")
}

func TestFullDiskDoesNoHarm(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("only Linux has a file that is full")
		return
	}
	log, console := newLog(t, Settings{File: "/dev/full"})
	log.Error("x")
	wantText(t, "console", console.take(), "[ERROR   ] x\n")
}
