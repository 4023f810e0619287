package daemon

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ErrRunning is wrapped if the pid file belongs to a live process.
var ErrRunning = errors.New("already running")

// A PIDFile holds the process id of a daemon. A kernel lock shows whether the process is alive: it
// is released when the process ends in any way. A nil PIDFile does nothing.
type PIDFile struct {
	path string
	file *os.File
}

// TakePIDFile writes the id of this process to a file and locks it. It creates the directory if
// needed. If another process holds the lock, the error wraps ErrRunning and names that process. An
// empty path returns nil.
func TakePIDFile(path string) (*PIDFile, error) {
	if path == "" {
		return nil, nil
	}
	for {
		p, err := lockPIDFile(path)
		if err != nil {
			return nil, err
		}
		if p.isAt(path) {
			return p, p.write()
		}
		_ = p.file.Close() // its owner removed it in the meantime: try the current file
	}
}

func lockPIDFile(path string) (*PIDFile, error) {
	f, err := OpenFile(path, os.O_CREATE|os.O_RDWR|noFollow, 0o644)
	if err != nil {
		return nil, &OptionError{"pidfile", err}
	}
	switch err := await(f); {
	case errors.Is(err, ErrLocked):
		return nil, errors.Join(fmt.Errorf("%w: process %s holds %s", ErrRunning, readPID(f), path),
			f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("pidfile: lock %s: %w", path, err), f.Close())
	}
	return &PIDFile{path: path, file: f}, nil
}

// readPID returns the contents of a pid file.
func readPID(f *os.File) string {
	buf := make([]byte, 20)
	n, _ := f.ReadAt(buf, 0) // a file being written is still empty
	if pid := strings.TrimSpace(string(buf[:n])); pid != "" {
		return pid
	}
	return "unknown"
}

// isAt reports whether the locked file is still the one at path.
func (p *PIDFile) isAt(path string) bool {
	here, err := p.file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(here, there)
}

// write writes the process id without a line feed, as Salt does. If root writes the file, it
// becomes root's, even if it was another user's: whoever can write it could make scripts of root
// signal any process.
func (p *PIDFile) write() error {
	err := p.file.Truncate(0)
	if uid := os.Geteuid(); err == nil && uid == 0 {
		err = p.file.Chown(uid, os.Getegid())
	}
	if err == nil {
		_, err = p.file.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("pidfile: write %s: %w", p.path, err), p.file.Close())
	}
	return nil
}

// Close removes the file, or truncates it if the daemon's user may not remove it, and releases the
// lock.
func (p *PIDFile) Close() {
	if p == nil {
		return
	}
	if !p.isAt(p.path) || os.Remove(p.path) != nil {
		_ = p.file.Truncate(0) // a remaining file is not locked, so it is harmless
	}
	_ = p.file.Close() // nothing was buffered
}
