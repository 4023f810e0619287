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

// programs remembers on disk which programs the jobs of this minion run, so that a minion that was killed, or that left
// some running when it ended, leaves none for good: the next run ends them.
//
// A program is an empty file in the directory; its name holds the job and, from before the start, the intent to start it, and
// then the mark of the process. The file goes when the program has ended.
//
// What remains: a program of which the minion is killed right at its start, so that there is its intent only, is not found
// when by the next run it has replaced itself by another with a changed environment and has none of its input and outputs
// any more, when it has changed its user, or when the minion may not look at processes of its user.
type programs struct {
	dir string
	log logrus.FieldLogger
}

// A note is the file of one program.
type note struct {
	programs
	jid, file string
}

// unnoted is the note of a program that cannot be found again.
type unnoted struct{}

func (unnoted) Started(int) {}
func (unnoted) Ended()      {}

// watch returns what notes the programs of a job.
func (p programs) watch(jid string) func(process.Intent, error) process.Note {
	return func(i process.Intent, err error) process.Note {
		if errors.Is(err, errors.ErrUnsupported) {
			return unnoted{}
		}
		file := filepath.Join(p.dir, jid+"."+i.String())
		if err == nil {
			err = os.WriteFile(file, nil, 0o600)
		}
		if err != nil {
			p.log.WithError(err).Errorf("a program of job %s would outlive an end of the minion without warning", jid)
			return unnoted{}
		}
		return &note{p, jid, file}
	}
}

// Started puts the mark of the process in the place of the intent.
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
		n.log.WithError(err).Errorf("note process %d of job %s", pid, n.jid)
		return
	}
	n.file = file
}

// Ended takes the note away.
func (n *note) Ended() { n.forget(n.file) }

func (p programs) forget(file string) {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.log.WithError(err).Error("the note of a program that a job started cannot be removed")
	}
}

// end ends what programs of earlier runs are left. No other minion may run with these directories.
//
// Those that are at work on the minion itself are spared: one by which this minion was started, and one that names it, as
// when a job installs a new version or has the system start the minion again.
func (p programs) end() {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		p.log.WithError(err).Error("programs of earlier jobs cannot be looked for")
		return
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !isOwn(e) })
	marks, intents := noted(entries)
	marks = append(marks, process.FindLeft(intents, marks)...)
	for _, m := range process.EndLeft(marks, namesMinion) {
		p.log.Warnf("process %d of a job of earlier is left alone, since it seems to be at work on this minion", m.PID)
	}
	for _, e := range entries {
		p.forget(filepath.Join(p.dir, e.Name()))
	}
}

// noted reads the names of notes. What else lies there is passed over.
func noted(entries []os.DirEntry) (marks []process.Mark, intents []process.Intent) {
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

// makePrograms makes the directory of programs.
func makePrograms(dir string, log logrus.FieldLogger) (programs, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return programs{}, fmt.Errorf("make directory: %w", err)
	}
	return programs{dir, log}, nil
}
