package keyfiles

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/brineproject/brine/internal/atomicfile"
)

const (
	journalTitle  = "keyfiles 1"
	journalMarked = "marked"
	journalEnd    = "end"
	maxJournal    = 256 << 20 // bytes; 10,000 ids take 1.5 MB
	spareLines    = 1024      // that may be superseded before the file is written anew
)

// A journal is the state file: the base of each id. It is safe for concurrent use.
//
// The file has a line for each change, which is appended and not flushed. Its first line has the
// session, which is also in the marks of the directories. The last line tells whether the process
// ended in order. Each line ends with its CRC. What follows a wrong line is ignored.
type journal struct {
	path string

	mu       sync.Mutex
	session  string
	previous string // the session before, until all marks have the new one
	bases    map[string]base
	news     []string // ids whose bases were set to other keys
	lines    int
	failed   bool // a change is not in the file
}

// openJournal reads the state file. A missing file is an empty one.
func openJournal(path string) (*journal, error) {
	j := &journal{path: path, bases: map[string]base{}}
	info, err := os.Stat(path)
	if err == nil && info.Size() > maxJournal {
		err = fmt.Errorf("%d bytes are more than a state file has", info.Size())
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what the key files had: %w", err)
	}
	j.parse(text)
	return j, nil
}

// parse takes the text of a file up to the first wrong line.
func (j *journal) parse(text []byte) {
	ended := false
	for first := true; len(text) > 0; first = false {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		fields, ok := unseal(string(line))
		if !whole || !ok || !j.take(fields, first) {
			ended = false
			break
		}
		ended = len(fields) == 1 && fields[0] == journalEnd
		text = rest
	}
	if ended {
		return
	}
	for id, b := range j.bases {
		b.doubt = true
		j.bases[id] = b
	}
}

// unseal returns the fields of a line whose CRC is right.
func unseal(line string) ([]string, bool) {
	at := strings.LastIndexByte(line, ' ')
	if at < 0 || line[at+1:] != check(line[:at]) {
		return nil, false
	}
	return strings.Split(line[:at], " "), true
}

func seal(text string) string { return text + " " + check(text) + "\n" }

func check(text string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) }

// take applies a line and reports whether it has a meaning.
func (j *journal) take(fields []string, first bool) bool {
	if first {
		if len(fields) != 4 || fields[0]+" "+fields[1] != journalTitle {
			return false
		}
		j.session, j.previous = fields[2], strings.TrimPrefix(fields[3], "-")
		return true
	}
	if len(fields) == 1 {
		if fields[0] == journalMarked {
			j.previous = ""
		}
		return fields[0] == journalMarked || fields[0] == journalEnd
	}
	id, b, ok := readBase(fields)
	if ok {
		j.bases[id] = b
	}
	return ok
}

// readBase decodes the fields that line has written.
func readBase(fields []string) (id string, b base, ok bool) {
	if len(fields) != 2+len(states) {
		return "", b, false
	}
	name, err := base64.RawURLEncoding.Strict().DecodeString(fields[0])
	if err != nil || len(name) == 0 {
		return "", b, false
	}
	if b.generation, err = strconv.ParseUint(fields[1], 10, 64); err != nil {
		return "", b, false
	}
	for i, text := range fields[2:] {
		if text == "-" {
			continue
		}
		n, err := base64.RawURLEncoding.Strict().DecodeString(text)
		if err != nil || len(n) != len(b.keys[i]) {
			return "", b, false
		}
		b.keys[i] = sum(n)
	}
	return string(name), b, true
}

// line returns the line of a base.
func line(id string, b base) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(id)) + " " + strconv.FormatUint(b.generation, 10)
	for _, s := range b.keys {
		if s == (sum{}) {
			text += " -"
			continue
		}
		text += " " + base64.RawURLEncoding.EncodeToString(s[:])
	}
	return seal(text)
}

// begin starts a session: with the bases of the last one, or without any. The caller writes the
// marks and calls marked.
func (j *journal) begin(keep bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case !keep:
		j.session, j.previous, j.bases = rand.Text(), "", map[string]base{}
	case j.previous == "": // else the marks have either, after an interrupted begin
		j.session, j.previous = rand.Text(), j.session
	}
	return j.rewrite()
}

// marked records that all marks have the session.
func (j *journal) marked() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.previous = ""
	return j.append(seal(journalMarked))
}

// owns reports whether a mark is of the session.
func (j *journal) owns(mark string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return mark != "" && (mark == j.session || mark == j.previous)
}

func (j *journal) mark() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.session
}

// get returns the base of an id, or nil.
func (j *journal) get(id string) *base {
	j.mu.Lock()
	defer j.mu.Unlock()
	if b, ok := j.bases[id]; ok {
		return &b
	}
	return nil
}

// set replaces the base of an id. After an error the base holds for this process.
func (j *journal) set(id string, b base) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	old, ok := j.bases[id]
	j.bases[id] = b
	if !ok || old.keys != b.keys {
		j.news = append(j.news, id)
	}
	if old.doubt = false; ok && old == b && !j.failed {
		return nil
	}
	if j.failed || j.lines > 2*len(j.bases)+spareLines {
		return j.rewrite()
	}
	return j.append(line(id, b))
}

// takeNews returns the ids whose bases were set to other keys since the last call.
func (j *journal) takeNews() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	news := j.news
	j.news = nil
	return news
}

// all returns a copy of the bases.
func (j *journal) all() map[string]base {
	j.mu.Lock()
	defer j.mu.Unlock()
	return maps.Clone(j.bases)
}

// end records that all changes are in the file, if that is so, and flushes it.
func (j *journal) end() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.bases {
		if b.doubt {
			return nil
		}
	}
	if j.failed {
		if err := j.rewrite(); err != nil {
			return err
		}
	}
	return j.append(seal(journalEnd))
}

// append adds a line. A file that was removed meanwhile is written anew.
func (j *journal) append(text string) error {
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if err = j.rewrite(); err != nil {
			return err
		}
		f, err = os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0)
	}
	if err != nil {
		j.failed = true
		return fmt.Errorf("write what the key files have: %w", err)
	}
	_, err = f.WriteString(text)
	if err == nil && (text == seal(journalEnd)) {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		j.failed = true
		return fmt.Errorf("write what the key files have: %w", err)
	}
	j.lines++
	return nil
}

// rewrite replaces the file by one without superseded lines.
func (j *journal) rewrite() error {
	previous := j.previous
	if previous == "" {
		previous = "-"
	}
	text := []byte(seal(journalTitle + " " + j.session + " " + previous))
	for _, id := range slices.Sorted(maps.Keys(j.bases)) {
		text = append(text, line(id, j.bases[id])...)
	}
	if err := atomicfile.Write(j.path, text, atomicfile.Options{Sync: true, SyncDir: true}); err != nil {
		j.failed = true
		return fmt.Errorf("write what the key files have: %w", err)
	}
	j.lines, j.failed = len(j.bases)+1, false
	return nil
}
