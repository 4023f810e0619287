package minion

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/job"
)

// maxSeenFile limits how much of the file of ids is read, in bytes.
const maxSeenFile = 4 << 20

// seen records the ids of started jobs across restarts, so that no job runs twice. Its file holds
// one id per line. A damaged or unwritable file never prevents a job from running.
type seen struct {
	file string
	max  int // number of ids kept

	mu    sync.Mutex
	ids   map[string]struct{}
	order []string
	out   *os.File // nil while the file cannot be written
	lines int      // in the file
}

// openSeen reads the recorded ids from file. The result is usable even if the error is not nil.
func openSeen(file string, max int) (*seen, error) {
	s := &seen{file: file, max: max, ids: map[string]struct{}{}}
	body, err := readTail(file, maxSeenFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	bad := 0
	for line := range strings.Lines(string(body)) {
		if id, whole := strings.CutSuffix(line, "\n"); whole && job.ValidID(job.ID(id)) {
			s.remember(id)
		} else {
			bad++
		}
	}
	if bad > 0 {
		err = errors.Join(err, fmt.Errorf("%d damaged lines in %s", bad, file))
	}
	if info, statErr := os.Lstat(file); statErr == nil && !info.Mode().IsRegular() {
		err = errors.Join(err, os.Rename(file, file+".damaged"))
	}
	return s, errors.Join(err, s.rewrite())
}

// readTail returns the last most bytes of a file.
func readTail(file string, most int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// has reports whether the job was started before.
func (s *seen) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.ids[id]
	return ok
}

// add records a job id. If it returns an error, the id is only remembered until the minion ends.
func (s *seen) add(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember(id)
	if s.out == nil || s.lines >= 2*s.max {
		return s.rewrite()
	}
	if _, err := io.WriteString(s.out, id+"\n"); err != nil {
		return errors.Join(fmt.Errorf("remember job %s: %w", id, err), s.drop())
	}
	s.lines++
	return nil
}

// sync flushes the recorded ids to disk.
func (s *seen) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.out == nil {
		return s.rewrite()
	}
	if err := s.out.Sync(); err != nil {
		return fmt.Errorf("remember jobs: %w", err)
	}
	return nil
}

// drop closes the file. The next add opens a new one.
func (s *seen) drop() error {
	out := s.out
	s.out = nil
	if out == nil {
		return nil
	}
	return out.Close()
}

// close closes the file.
func (s *seen) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drop()
}

func (s *seen) remember(id string) {
	if _, ok := s.ids[id]; ok {
		return
	}
	s.ids[id] = struct{}{}
	s.order = append(s.order, id)
	if len(s.order) > s.max {
		delete(s.ids, s.order[0])
		s.order = s.order[1:]
	}
}

// rewrite writes the remembered ids to a new file.
func (s *seen) rewrite() error {
	if err := s.drop(); err != nil {
		return fmt.Errorf("write seen job ids: %w", err)
	}
	var body bytes.Buffer
	for _, id := range s.order {
		body.WriteString(id + "\n")
	}
	if err := atomicfile.Write(s.file, body.Bytes(),
		atomicfile.Options{Prefix: tempPrefix}); err != nil {
		return fmt.Errorf("write seen job ids: %w", err)
	}
	out, err := os.OpenFile(s.file, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write seen job ids: %w", err)
	}
	s.out, s.lines = out, len(s.order)
	return errors.Join(syncFile(s.file), syncDir(filepath.Dir(s.file)))
}
