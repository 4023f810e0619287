package minion

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/process"
)

// programs records on disk which programs the jobs of this minion run. If the minion is killed, or
// leaves programs running when it ends, the next run ends them.
//
// Each program has an empty file in the directory. Its name holds the job and the intent to start
// the program, which the mark of the process replaces after the start. The file is removed when the
// program ends.
//
// If the minion is killed right at the start of a program, only the intent is recorded. The next
// run then misses the program in three cases: it has executed another program with a changed
// environment and has closed its inherited files; it has changed its user; or the minion may not
// inspect processes of its user.
type programs struct {
	dir string
	log logrus.FieldLogger
}

// A note is the file that records one program.
type note struct {
	programs
	jid, file string
}

// noNote is the note of a program that cannot be recorded.
type noNote struct{}

func (noNote) Started(int) {}
func (noNote) Ended()      {}

// watch returns a function that records the programs of a job.
func (p programs) watch(jid string) func(process.Intent, error) process.Note {
	return func(i process.Intent, err error) process.Note {
		if errors.Is(err, errors.ErrUnsupported) {
			return noNote{}
		}
		file := filepath.Join(p.dir, jid+"."+i.String())
		if err == nil {
			err = os.WriteFile(file, nil, 0o600)
		}
		if err != nil {
			p.log.WithError(err).Errorf("record a program of job %s; it would keep running if the minion was killed", jid)
			return noNote{}
		}
		return &note{p, jid, file}
	}
}

// Started renames the note from the intent to the mark of the process.
func (n *note) Started(pid int) {
	mark, err := process.MarkOf(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return // it has ended
	}
	file := filepath.Join(n.dir, n.jid+"."+mark.String())
	if err == nil {
		err = os.Rename(n.file, file)
	}
	if err != nil {
		n.log.WithError(err).Errorf("record process %d of job %s", pid, n.jid)
		return
	}
	n.file = file
}

// Ended removes the note.
func (n *note) Ended() { n.forget(n.file) }

func (p programs) forget(file string) {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.log.WithError(err).Error("remove record of a program")
	}
}

// end ends the programs left by earlier runs. No other minion may be running with this directory.
//
// Programs that work on the minion itself are spared: those that started this minion, and those
// whose command line names it. Such a job may be installing a new version or restarting the minion.
func (p programs) end() {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		p.log.WithError(err).Error("find programs of earlier jobs")
		return
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !isOwn(e) })
	marks, intents := parseNotes(entries)
	marks = append(marks, process.FindLeft(intents, marks)...)
	for _, m := range process.EndLeft(marks, namesMinion) {
		p.log.Warnf("process %d of an earlier job is left running, since it seems to work on this minion", m.PID)
	}
	for _, e := range entries {
		p.forget(filepath.Join(p.dir, e.Name()))
	}
}

// parseNotes parses the file names of notes and ignores other files.
func parseNotes(entries []os.DirEntry) (marks []process.Mark, intents []process.Intent) {
	for _, e := range entries {
		_, text, _ := strings.Cut(e.Name(), ".")
		if mark, err := process.ParseMark(text); err == nil {
			marks = append(marks, mark)
		}
		if intent, err := process.ParseIntent(text); err == nil {
			intents = append(intents, intent)
		}
	}
	return marks, intents
}

// namesMinion reports whether a command line names the minion's program, package or service.
func namesMinion(cmdline string) bool { return strings.Contains(cmdline, "salt-minion") }

// makePrograms creates the directory of notes.
func makePrograms(dir string, log logrus.FieldLogger) (programs, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return programs{}, fmt.Errorf("make directory: %w", err)
	}
	return programs{dir, log}, nil
}
