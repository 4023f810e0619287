package daemon

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ErrRunning is wrapped when the pid file belongs to a process that lives.
var ErrRunning = errors.New("already running")

// A PIDFile tells the world which process a daemon is. A lock of the kernel tells whether that process lives: it ends with
// the process, however that ends. The nil PIDFile is none.
type PIDFile struct {
	path string
	file *os.File
}

// TakePIDFile writes the number of this process to a file and holds its lock; the directory is made where it is missing. The
// error wraps ErrRunning, and names the process, when another one holds it. No path gives no file.
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
		_ = p.file.Close() // its owner removed it while we waited for nothing; try the one that is there now
	}
}

func lockPIDFile(path string) (*PIDFile, error) {
	f, err := OpenFile(path, os.O_CREATE|os.O_RDWR|noFollow, 0o644)
	if err != nil {
		return nil, &OptionError{"pidfile", err}
	}
	switch err := await(f); {
	case errors.Is(err, ErrLocked):
		return nil, errors.Join(fmt.Errorf("%w: process %s holds %s", ErrRunning, readPID(f), path), f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("pidfile: lock %s: %w", path, err), f.Close())
	}
	return &PIDFile{path: path, file: f}, nil
}

// readPID returns what a pid file says.
func readPID(f *os.File) string {
	buf := make([]byte, 20)
	n, _ := f.ReadAt(buf, 0) // a file that is being written says nothing yet
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

// write writes the number as Salt does: without a line feed. The file is root's when root writes it, also one that was
// another's: whoever may write to it can have scripts of root send signals to any process.
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

// Close removes the file, or empties it where the user of the daemon may not, and gives the lock back.
func (p *PIDFile) Close() {
	if p == nil {
		return
	}
	if !p.isAt(p.path) || os.Remove(p.path) != nil {
		_ = p.file.Truncate(0) // what is left is no lock, so it does no harm
	}
	_ = p.file.Close() // nothing was buffered
}
