package queue

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/job"
)

const (
	dirName     = "offline"
	journalName = "journal"
	freshName   = "journal.new"
	requestName = "cancel-"

	renewFrom   = 1000     // minimum number of lines before the journal is rewritten
	maxLine     = 16 << 20 // bytes
	maxRequest  = 8 << 20  // bytes
	maxRequests = 1000     // requests read at once
)

// Operations of a record.
const (
	opPut  = "put"
	opSend = "send" // the sending to a minion begins
	opDone = "done" // a minion is removed
	opWait = "wait" // the sending to a minion has not begun after all
)

// A record is one change in the journal.
type record struct {
	Op      string   `json:"op"`
	ID      job.ID   `json:"id"`
	Owner   string   `json:"owner,omitempty"`
	Full    bool     `json:"full,omitempty"`   // the owner has full rights
	Rights  []byte   `json:"rights,omitempty"` // the owner's rights
	Load    []byte   `json:"load,omitempty"`
	Minions []string `json:"minions"`
	Sent    []string `json:"sent,omitempty"`    // those of Minions whose sending has begun
	Queued  int64    `json:"queued,omitempty"`  // microseconds
	Expires int64    `json:"expires,omitempty"` // microseconds
}

// record returns the record that puts an item.
func (i *Item) record() record {
	return record{
		Op:      opPut,
		ID:      i.ID,
		Owner:   i.Owner.Name,
		Full:    i.Owner.Full,
		Rights:  i.Owner.Rights,
		Load:    i.Load,
		Minions: i.Minions,
		Sent:    i.Sent,
		Queued:  i.Queued.UnixMicro(),
		Expires: i.Expires.UnixMicro(),
	}
}

// item returns the item of a put record, without its minions.
func (r record) item() Item {
	return Item{ID: r.ID, Owner: Owner{Name: r.Owner, Full: r.Full, Rights: r.Rights}, Load: r.Load,
		Queued: time.UnixMicro(r.Queued), Expires: time.UnixMicro(r.Expires)}
}

// encode returns a record as a journal line.
func (r record) encode() ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", sumOf(body), body), nil
}

func sumOf(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

var errLine = errors.New("the line is damaged")

// decode decodes a line without its newline.
func decode(line []byte) (r record, err error) {
	var sum uint32
	head, body, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(head) != 8 {
		return r, errLine
	}
	if _, err := fmt.Sscanf(string(head), "%08x", &sum); err != nil || sum != sumOf(body) {
		return r, errLine
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("%w: %w", errLine, err)
	}
	return r, nil
}

// replay applies the changes in the journal. It returns how many lines there are, and how many of
// them are damaged. A last line without a newline is applied if it is complete, and does not count
// as damage if it is not.
func replay(dir *os.Root, s *state) (lines, bad int, err error) {
	f, err := dir.Open(journalName)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, 0, errors.Join(err, fmt.Errorf("%s is not a file", journalName))
	}
	return replayLines(f, s)
}

func replayLines(from io.Reader, s *state) (lines, bad int, err error) {
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		line, whole, err := readLine(in)
		if err != nil {
			return lines, bad, err
		}
		if r, err := decode(line); !whole {
			if err == nil {
				s.apply(r)
			}
			return lines, bad, nil
		}
		lines++
		if len(line) == 0 {
			continue // separates a truncated line from the next one
		}
		if r, err := decode(line); err == nil {
			s.apply(r)
		} else {
			bad++
		}
	}
}

// readLine reads a line. Of one that is too long, it returns the beginning.
func readLine(in *bufio.Reader) (line []byte, whole bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) <= maxLine {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return line, false, nil
		case err != nil:
			return nil, false, err
		default:
			return bytes.TrimSuffix(line, []byte("\n")), true, nil
		}
	}
}

// A journal is the open journal file.
type journal struct {
	dir   *os.Root
	f     file
	lines int
	size  int64 // size in bytes of the successful changes
	cut   bool  // the last line may lack its newline
	torn  bool  // the file may be longer than size
}

// file is the part of *os.File that a journal uses.
type file interface {
	io.WriteCloser
	Sync() error
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
}

func openJournal(dir *os.Root, lines int) (*journal, error) {
	j := &journal{dir: dir, lines: lines, cut: true}
	f, err := dir.OpenFile(journalName, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	j.f = f
	if err := errors.Join(j.measure(), atomicfile.SyncDir(dir, ".")); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// measure sets size to the size of the file.
func (j *journal) measure() error {
	info, err := j.f.Stat()
	if err != nil {
		return err
	}
	j.size = info.Size()
	return nil
}

// mend truncates the remains of a failed change, so that they are not found later: its caller got
// an error.
func (j *journal) mend() error {
	if !j.torn {
		return nil
	}
	if err := j.f.Truncate(j.size); err != nil {
		return fmt.Errorf("remove a failed change from the journal: %w", err)
	}
	j.torn = false
	return nil
}

func (j *journal) close() error { return j.f.Close() }

// add appends a change, and syncs it to disk if durable is set. On error it leaves the file as it
// was.
func (j *journal) add(r record, durable bool) error {
	line, err := r.encode()
	if err != nil {
		return err
	}
	if j.cut {
		line = append([]byte("\n"), line...)
	}
	if err := j.mend(); err != nil {
		return err
	}
	_, err = j.f.Write(line)
	if err == nil && durable {
		err = j.f.Sync()
	}
	if err != nil {
		j.torn = true
		return errors.Join(err, j.mend())
	}
	j.lines++
	j.size += int64(len(line))
	j.cut = false
	return nil
}

// renew rewrites the journal atomically with the current entries only.
func (j *journal) renew(s *state) error {
	f, err := j.dir.OpenFile(freshName, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err = writeAll(f, s); err == nil {
		err = j.dir.Rename(freshName, journalName)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	old := j.f
	j.f, j.lines, j.cut, j.torn = f, len(s.jobs), false, false
	return errors.Join(j.measure(), old.Close(), atomicfile.SyncDir(j.dir, "."))
}

func writeAll(f *os.File, s *state) error {
	out := bufio.NewWriter(f)
	for _, w := range s.sorted() {
		line, err := w.record().encode()
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return errors.Join(out.Flush(), f.Sync())
}

// A request is another program's order to remove a job for some minions, or for all if there are
// none.
type request struct {
	ID      job.ID   `json:"id"`
	Minions []string `json:"minions"`
}

// ask writes a request to the directory.
func ask(dir string, r request) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, requestName+rand.Text())
	return atomicfile.Write(file, body,
		// the master may run as another user
		atomicfile.Options{Mode: 0o644, Sync: true, Prefix: ".asked-"})
}

// readRequests returns the requests of other programs and the names of their files. Invalid files
// are skipped.
func readRequests(dir *os.Root) (files []string, requests []request, err error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, nil, err
	}
	defer d.Close()
	entries, err := d.Readdirnames(maxRequests)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	slices.Sort(entries)
	for _, name := range entries {
		if !strings.HasPrefix(name, requestName) {
			continue
		}
		if r, ok := readRequest(dir, name); ok {
			files, requests = append(files, name), append(requests, r)
		}
	}
	return files, requests, nil
}

func readRequest(dir *os.Root, name string) (r request, ok bool) {
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxRequest {
		return r, false
	}
	body, err := dir.ReadFile(name)
	return r, err == nil && json.Unmarshal(body, &r) == nil && r.ID != ""
}
