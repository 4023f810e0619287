package tokenfiles

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/internal/atomicfile"
)

// A journal is the state file. Each line is a letter and its values:
//
//	s SESSION   the directory may have this mark.
//	m SESSION   the directory has this mark and no other.
//	= ID SUM    the base of an id.
//	- ID        the id was deleted.
//	- ID TIME   the id was deleted; nobody needs to know it after a time, in seconds since 1970.
//	x ID        the id is forgotten.
//
// Later lines count. Lines that cannot be read are left out. It is not safe for concurrent use.
type journal struct {
	path     string
	sessions []string
	bases    map[id]place
	until    map[id]int64 // when deleted bases are not needed any more; those that are not there stay
	lines    int          // of bases, in the file
	fresh    bytes.Buffer
	skipped  int // lines that could not be read
}

const journalHead = "brine token files 1\n"

// openJournal reads the state file. A missing one is empty.
func openJournal(path string) (*journal, error) {
	j := &journal{path: path, bases: map[id]place{}, until: map[id]int64{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return j, nil
	}
	if err != nil {
		return nil, fmt.Errorf("state of the token files: %w", err)
	}
	text, _ = bytes.CutPrefix(text, []byte(journalHead))
	for line := range bytes.Lines(text) {
		if !j.read(string(line)) {
			j.skipped++
		}
	}
	return j, nil
}

// read applies a line, which ends in a newline.
func (j *journal) read(line string) bool {
	line, whole := strings.CutSuffix(line, "\n")
	if !whole {
		return false
	}
	words := strings.Split(line, " ")
	if len(words) < 2 {
		return false
	}
	switch i, ok := parseSum(words[1]); {
	case words[0] == "s" && len(words) == 2:
		j.sessions = append(j.sessions, words[1])
	case words[0] == "m" && len(words) == 2:
		j.sessions = []string{words[1]}
	case words[0] == "-" && len(words) == 2 && ok:
		j.set(id(i), place{side: deleted}, 0)
	case words[0] == "-" && len(words) == 3 && ok:
		until, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil || until <= 0 {
			return false
		}
		j.set(id(i), place{side: deleted}, until)
	case words[0] == "x" && len(words) == 2 && ok:
		j.set(id(i), place{}, 0)
	case words[0] == "=" && len(words) == 3 && ok:
		s, ok := parseSum(words[2])
		if ok {
			j.set(id(i), place{has, s}, 0)
		}
		return ok
	default:
		return false
	}
	j.lines++
	return true
}

// owns reports whether a mark is that of this session, or of the last one.
func (j *journal) owns(mark string) bool { return slices.Contains(j.sessions, mark) }

// begin starts a session. Without keep it drops all bases, except of what was deleted.
func (j *journal) begin(session string, keep bool) error {
	if !keep {
		j.sessions = nil
		for i, b := range j.bases {
			if b.side != deleted {
				delete(j.bases, i)
			}
		}
	}
	j.sessions = append(j.sessions, session)
	return j.rewrite()
}

// marked records that the directory has the mark of a session.
func (j *journal) marked(session string) error {
	j.sessions = []string{session}
	fmt.Fprintf(&j.fresh, "m %s\n", session)
	return j.flush()
}

// set sets the base of an id, and until when a deleted one is needed, 0 for good. No side forgets the id.
func (j *journal) set(i id, b place, until int64) {
	delete(j.until, i)
	if b.side == none {
		delete(j.bases, i)
		return
	}
	j.bases[i] = b
	if b.side == deleted && until > 0 {
		j.until[i] = until
	}
}

// note is set for a base that flush writes.
func (j *journal) note(i id, b place, until int64) {
	j.set(i, b, until)
	j.lines++
	j.write(&j.fresh, i)
}

// write writes the base of an id.
func (j *journal) write(to *bytes.Buffer, i id) {
	b, until := j.bases[i], j.until[i]
	switch {
	case b.side == none:
		fmt.Fprintf(to, "x %s\n", i.key())
	case b.side == deleted && until > 0:
		fmt.Fprintf(to, "- %s %d\n", i.key(), until)
	case b.side == deleted:
		fmt.Fprintf(to, "- %s\n", i.key())
	default:
		fmt.Fprintf(to, "= %s %s\n", i.key(), hex.EncodeToString(b.sum[:]))
	}
}

// flush writes what was noted to disk.
func (j *journal) flush() error {
	if j.fresh.Len() == 0 {
		return nil
	}
	if j.lines > 2*len(j.bases)+1000 {
		return j.rewrite()
	}
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return j.rewrite()
	}
	if err != nil {
		return fmt.Errorf("state of the token files: %w", err)
	}
	_, err = f.Write(j.fresh.Bytes())
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		j.lines = 1<<62 - 1 // a part may be written: the next flush writes all
		return fmt.Errorf("state of the token files: %w", err)
	}
	j.fresh.Reset()
	return nil
}

// rewrite writes the whole file.
func (j *journal) rewrite() error {
	var all bytes.Buffer
	all.WriteString(journalHead)
	for _, s := range j.sessions {
		fmt.Fprintf(&all, "s %s\n", s)
	}
	for i := range j.bases {
		j.write(&all, i)
	}
	if err := atomicfile.Write(j.path, all.Bytes(), atomicfile.Options{Sync: true, SyncDir: true}); err != nil {
		return fmt.Errorf("state of the token files: %w", err)
	}
	j.fresh.Reset()
	j.lines = len(j.bases)
	return nil
}
