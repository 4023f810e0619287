package minion

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/process"
)

// programs remembers on disk which programs the jobs of this minion run, so that a minion that was killed, or that left
// some running when it ended, leaves none for good: the next run ends them.
//
// One gap is left: a program of which the minion is killed in the moment between its start and the note is not found.
//
// A program is an empty file in the folder; its name holds the job and the mark of the process. It goes when the program
// has ended.
type programs struct {
	dir string
	log logrus.FieldLogger
}

// watch notes a program of a job when it starts, and returns what takes the note away.
func (p programs) watch(jid string) func(pid int) (ended func()) {
	return func(pid int) func() {
		mark, err := process.MarkOf(pid)
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrNotExist) {
			return func() {} // it cannot be found again, or has ended
		}
		file := filepath.Join(p.dir, jid+"."+mark.String())
		if err == nil {
			err = os.WriteFile(file, nil, 0o600)
		}
		if err != nil {
			p.log.WithError(err).Errorf("a program of job %s would outlive an end of the minion without warning", jid)
			return func() {}
		}
		return func() { p.forget(file) }
	}
}

func (p programs) forget(file string) {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.log.WithError(err).Error("programs of jobs")
	}
}

// end ends what programs of earlier runs are left. No other minion may run with these folders.
//
// Those that are at work on the minion itself are spared: one by which this minion was started, and one that names it, as
// when a job installs a new version or has the system start the minion again.
func (p programs) end() {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		p.log.WithError(err).Error("programs of jobs of earlier")
		return
	}
	var marks []process.Mark
	for _, e := range entries {
		_, text, _ := strings.Cut(e.Name(), ".")
		if mark, err := process.ParseMark(text); err == nil {
			marks = append(marks, mark)
		}
	}
	for _, m := range process.EndLeft(marks, namesMinion) {
		p.log.Warnf("process %d of a job of earlier is left alone, since it seems to be at work on this minion", m.PID)
	}
	for _, e := range entries {
		p.forget(filepath.Join(p.dir, e.Name()))
	}
}

// namesMinion reports whether a command line names the minion's program, package or service.
func namesMinion(cmdline string) bool { return strings.Contains(cmdline, "salt-minion") }

// makePrograms makes the folder of programs.
func makePrograms(dir string, log logrus.FieldLogger) (programs, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return programs{}, fmt.Errorf("make folder: %w", err)
	}
	return programs{dir, log}, nil
}
