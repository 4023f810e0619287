package python

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // host.zip
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// archive has the host program and its library: the directory host without its tests.
//
//go:generate go test -run ^TestSourcesAreEmbedded$ -update
//go:embed host.zip
var archive string

// sources returns the files of the host program, below host.
func sources() (fs.FS, error) {
	files, err := zip.NewReader(strings.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, fmt.Errorf("read the Python host program: %w", err)
	}
	return files, nil
}

// ErrNoPython is wrapped by the errors of a host for which there is no python3.
var ErrNoPython = errors.New("no python3 was found")

// Options describe the Python that a [Host] runs.
type Options struct {
	Interpreter string // program; "" finds python3
	// Library returns the installed Salt in place of our own library; nil, or a nil result, for none.
	Library  func() *Library
	CacheDir string // the directory python below it gets the sources of the host program
	Daemon   bool   // each job gets a process of its own

	// Directories returns the directories of each kind of plug-in, the first of which counts most.
	Directories func() map[string][]string
	Level       logrus.Level // least important level that plug-ins may log
	Log         logrus.FieldLogger

	Services Services // operations of the library

	// Of commands. A daemon's plug-ins read nothing, and what they print is logged.
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	Idle    time.Duration // after which an unused template ends; 0 means 10 minutes
	Workers int           // jobs of a daemon that run Python at a time; more wait. 0 means 100

	// Load is how long a daemon waits for a file to be loaded; 0 means 2 minutes. All jobs that need
	// a plug-in of this kind wait meanwhile.
	Load time.Duration
}

// A Host runs Python for one daemon or command. Nothing is started before the first call. Several
// goroutines may use it.
type Host struct {
	o Options

	mu       sync.Mutex
	template *template   // of a daemon; nil while there is none
	idle     *time.Timer // ends the template; nil before the first worker was released
	retired  []*template // whose workers are still at work
	single   *session    // of a command
	closed   bool

	reporting sync.Mutex
	refused   map[string]bool // files that have been logged as refused

	installing sync.Mutex
	kept       io.Closer // keeps the host program from being removed; nil before the first start

	jobs       chan struct{} // an element for each job with workers
	generation atomic.Int64  // rises when the files may have changed
}

// NewHost returns a host with options.
func NewHost(o Options) *Host {
	o.Idle = cmp.Or(o.Idle, 10*time.Minute)
	o.Workers = cmp.Or(o.Workers, 100)
	o.Load = cmp.Or(o.Load, 2*time.Minute)
	return &Host{o: o, refused: map[string]bool{}, jobs: make(chan struct{}, o.Workers)}
}

// Renew makes the host use changed options: the jobs to come get a new template, and files are
// loaded and judged again. Jobs under way are not disturbed.
func (h *Host) Renew() {
	h.mu.Lock()
	h.retire()
	h.mu.Unlock()
	h.reporting.Lock()
	clear(h.refused)
	h.reporting.Unlock()
	h.generation.Add(1)
}

// Close ends the Python processes of the host.
func (h *Host) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.idle != nil {
		h.idle.Stop()
	}
	var errs []error
	if h.single != nil {
		errs = append(errs, h.single.Close())
	}
	h.retire()
	for _, t := range h.retired {
		errs = append(errs, t.close())
	}
	h.retired = nil
	h.installing.Lock()
	defer h.installing.Unlock()
	if h.kept != nil {
		errs = append(errs, h.kept.Close())
		h.kept = nil
	}
	return errors.Join(errs...)
}

// limited returns a context for loading plug-ins. That of a daemon ends after Options.Load.
func (h *Host) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if !h.o.Daemon {
		return ctx, func() {}
	}
	late := fmt.Errorf("its import takes longer than %v", h.o.Load)
	return context.WithTimeoutCause(ctx, h.o.Load, late)
}

// report logs what a call says of files that were refused, each once.
func (h *Host) report(texts []string) {
	h.reporting.Lock()
	defer h.reporting.Unlock()
	for _, text := range texts {
		if !h.refused[text] {
			h.refused[text] = true
			h.o.Log.Error(text)
		}
	}
}

// library returns the installed Salt, nil for none.
func (h *Host) library() *Library {
	if h.o.Library == nil {
		return nil
	}
	return h.o.Library()
}

// interpreter returns the path of python3.
func (h *Host) interpreter() (string, error) {
	if library := h.library(); library != nil {
		return library.Interpreter, nil
	}
	if h.o.Interpreter != "" {
		return h.o.Interpreter, nil
	}
	found, err := exec.LookPath("python3")
	if err != nil {
		return "", fmt.Errorf("%w: install it (Debian: python3-minimal), or set python_salt", ErrNoPython)
	}
	return found, nil
}

// install writes the sources of the host program below the cache directory and returns their
// directory. Its name has their hash, so that an older program keeps its own.
func (h *Host) install() (string, error) {
	files, err := sources()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	var names []string
	err = fs.WalkDir(files, "host", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".py" {
			return err
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		names = append(names, name)
		fmt.Fprintf(sum, "%s %d\n", name, len(b))
		sum.Write(b)
		return nil
	})
	if err != nil {
		return "", err
	}
	parent := "python"
	if uid := os.Geteuid(); uid > 0 { // root may have made the other, where no daemon of a user can write
		parent += "-" + strconv.Itoa(uid)
	}
	dir := filepath.Join(h.o.CacheDir, parent, hex.EncodeToString(sum.Sum(nil))[:16])
	h.installing.Lock()
	defer h.installing.Unlock()
	if err := h.keep(dir); err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
		return dir, nil
	}
	for _, name := range names {
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		to := filepath.Join(dir, filepath.FromSlash(name[len("host/"):]))
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return "", err
		}
		if err := atomicfile.Write(to, b, atomicfile.Options{Mode: 0o600}); err != nil {
			return "", fmt.Errorf("write the Python host program: %w", err)
		}
	}
	return dir, os.WriteFile(filepath.Join(dir, "complete"), nil, 0o600)
}

// keep makes the directory of the host program and keeps other programs from removing it. Those of
// other versions that nobody uses are removed.
func (h *Host) keep(dir string) (err error) {
	if h.kept != nil {
		if _, err := os.Stat(filepath.Join(dir, "complete")); err == nil {
			return nil
		}
		_ = h.kept.Close() // an operator has cleared the cache
		h.kept = nil
	}
	if h.kept, err = useDirectory(dir); err != nil {
		return fmt.Errorf("make the directory of the Python host program: %w", err)
	}
	others, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for _, d := range others {
		if d.IsDir() && len(d.Name()) == 16 && d.Name() != filepath.Base(dir) {
			removeUnused(filepath.Join(filepath.Dir(dir), d.Name()))
		}
	}
	return nil
}

// command returns the command of the host program in a mode, which speaks over file descriptor 3.
// With -I Python ignores its variables of the environment and the directory that it starts in.
func (h *Host) command(mode string, socket *os.File) (*exec.Cmd, error) {
	interpreter, err := h.interpreter()
	if err != nil {
		return nil, err
	}
	dir, err := h.install()
	if err != nil {
		return nil, err
	}
	args := []string{"-I", filepath.Join(dir, "brinehost", "main.py"), dir, mode, "3"}
	if library := h.library(); library != nil {
		// Salt's programs print no warnings either.
		args = append([]string{"-W", "ignore"}, append(args, library.Path)...)
	}
	cmd := exec.Command(interpreter, args...)
	cmd.ExtraFiles = []*os.File{socket}
	cmd.Env = process.Environment(os.Environ())
	if h.o.Daemon {
		cmd.Dir = "/"
	}
	return cmd, nil
}

// session returns the Python workers of the job that ctx belongs to. done gives them back.
func (h *Host) session(ctx context.Context) (s *session, done func(), err error) {
	if !h.o.Daemon {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.closed {
			return nil, nil, loader.ErrScopeClosed
		}
		if h.single == nil {
			h.single = &session{host: h}
		}
		return h.single, func() {}, nil
	}
	scope := loader.ScopeOf(ctx)
	if scope == nil {
		s = &session{host: h, extra: true}
		return s, func() { _ = s.Close() }, nil
	}
	extra := ctx.Value(loadingKey{}) != nil
	kept, err := scope.Keep(h, func() (io.Closer, error) { return &session{host: h, extra: extra}, nil })
	if err != nil {
		return nil, nil, err
	}
	return kept.(*session), func() {}, nil
}
