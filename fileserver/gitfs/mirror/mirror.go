// Package mirror keeps bare clones of git repositories up to date and reads them. It does not
// depend on file servers, so that git_pillar can use it too.
//
// The git program fetches, and go-git reads. Fetching deals with untrusted repositories, networks,
// ssh agents and proxies. A program can be killed at its time limit whatever it waits for, keeps
// the memory of a large pack to itself, and supports every protocol and server. go-git needs the
// program for local repositories too, and cannot interrupt the handshake with a silent ssh server.
// Reading happens for each request, and a program for each blob would be too slow. Without the git
// program (2.31 or later), the content fetched before is still served.
//
// A fetch does not affect readers until it is complete. Its branches and tags are then written to a
// file atomically, and readers, including those in other processes, use only that file. Update
// locks are kernel locks.
//
// git runs with no configuration but that of its command line: no hooks, no helpers, no submodules,
// one protocol. Passwords are passed only in its environment.
package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/daemon"
)

// Errors that callers can check for.
var (
	// ErrLocked is wrapped by Update when an operator locked the mirror.
	ErrLocked = errors.New("updates are locked")
	// ErrMissing is wrapped when a mirror does not have an object.
	ErrMissing = errors.New("no such object")
)

// defaultLimit is the default time limit of an update.
const defaultLimit = 15 * time.Minute

// busyWait is how long an update waits for an update by another process.
const busyWait = 30 * time.Second

// Options say which repository is mirrored, and how it is reached.
type Options struct {
	URL      string // http, https, ssh, git, file, USER@HOST:PATH or an absolute path
	Name     string // distinguishes mirrors of the same URL
	Refspecs []string
	// NoVerify accepts any certificate.
	NoVerify bool
	Proxy    string
	// User and Password are for http and https; over http only with InsecureAuth.
	User, Password string
	InsecureAuth   bool
	// PrivKey is the key file for ssh, and Passphrase decrypts it. If PrivKey is "", ssh chooses.
	PrivKey, Passphrase string
	// Root is the directory of all mirrors.
	Root string
	// Limit is the time limit of an update; 0 means 15 minutes.
	Limit time.Duration
}

// A Mirror is a clone of one repository. It is safe for concurrent use, also by several processes.
type Mirror struct {
	o     Options
	addr  address
	key   string
	packs int // more packs than this are merged into one

	update sync.Mutex
	mu     sync.Mutex
	seen   *seen // last read
	store  *store
}

// Open returns the mirror of a repository, without touching the disk or the network. The error
// describes invalid options without their secrets.
func Open(o Options) (*Mirror, error) {
	addr, err := parseAddress(o.URL)
	if err != nil {
		return nil, err
	}
	if err := addr.checkAuth(&o); err != nil {
		return nil, fmt.Errorf("%s: %w", addr.show, err)
	}
	for _, spec := range o.Refspecs {
		if err := checkRefspec(spec); err != nil {
			return nil, fmt.Errorf("%s: %w", addr.show, err)
		}
	}
	if o.Limit <= 0 {
		o.Limit = defaultLimit
	}
	return &Mirror{o: o, addr: addr, key: o.key(), packs: defaultPacks}, nil
}

// checkRefspec rejects anything that git could read as something other than a refspec that writes
// below refs.
func checkRefspec(s string) error {
	from, to, paired := strings.Cut(strings.TrimLeft(s, "+^"), ":")
	if from == "" || strings.HasPrefix(s, "-") ||
		strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) ||
		paired && (!strings.HasPrefix(to, "refs/") || strings.Contains(to, "..")) {
		return fmt.Errorf("%q is not a refspec that writes below refs/", s)
	}
	return nil
}

// key returns the name of a mirror's directory: the hash of its whole address and of the options
// that determine its content. Each part is prefixed with its length, so that different sets of
// parts never collide.
func (o Options) key() string {
	var all []byte
	for _, p := range append([]string{o.URL, o.Name, o.User, o.PrivKey}, o.Refspecs...) {
		all = strconv.AppendInt(all, int64(len(p)), 10)
		all = append(append(all, ':'), p...)
	}
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])
}

// Key returns the name of the mirror's directory below Options.Root.
func (m *Mirror) Key() string { return m.key }

// Local reports whether the repository is on this host's disk.
func (m *Mirror) Local() bool { return m.addr.scheme == "file" }

// URL returns the address without a password.
func (m *Mirror) URL() string { return m.addr.show }

// Is reports whether this mirror has an address, given with or without its password.
func (m *Mirror) Is(url string) bool { return url == m.o.URL || url == m.addr.show }

func (m *Mirror) dir() string      { return filepath.Join(m.o.Root, m.key) }
func (m *Mirror) gitDir() string   { return filepath.Join(m.dir(), "git") }
func (m *Mirror) refsFile() string { return filepath.Join(m.dir(), "refs") }
func (m *Mirror) mark() string     { return filepath.Join(m.dir(), "update.lk") }

// Update fetches new content, and reports whether branches or tags changed. It waits for an update
// by another process.
func (m *Mirror) Update(ctx context.Context) (changed bool, err error) {
	m.update.Lock()
	defer m.update.Unlock()
	if _, err := os.Stat(m.mark()); err == nil {
		return false, fmt.Errorf("fetch %s: %w by %s", m.addr.show, ErrLocked, m.mark())
	}
	free, err := m.lock(ctx)
	if err != nil {
		return false, fmt.Errorf("fetch %s: %w", m.addr.show, err)
	}
	defer func() { err = errors.Join(err, free()) }()
	if err := os.MkdirAll(m.dir(), 0o700); err != nil {
		return false, fmt.Errorf("fetch %s: %w", m.addr.show, err)
	}
	if changed, err = m.fetch(ctx); err != nil {
		return false, fmt.Errorf("fetch %s: %w", m.addr.show, err)
	}
	return changed, nil
}

// lock takes the kernel lock of the mirror. The lock file lies outside the mirror's directory, so
// that the directory can be removed while the lock is held.
func (m *Mirror) lock(ctx context.Context) (free func() error, err error) {
	dir := filepath.Join(m.o.Root, "locks")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	for by := time.Now().Add(busyWait); ; {
		free, err = daemon.LockFile(filepath.Join(dir, m.key))
		if !errors.Is(err, daemon.ErrLocked) || time.Now().After(by) || ctx.Err() != nil {
			return free, err
		}
	}
}

// Lock keeps the mirror from being updated until Unlock, also by other processes and after a
// restart. It reports whether the mirror was unlocked before.
func (m *Mirror) Lock() (bool, error) {
	if err := os.MkdirAll(m.dir(), 0o700); err != nil {
		return false, err
	}
	f, err := os.OpenFile(m.mark(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, f.Close()
}

// Unlock removes the lock set by Lock, and reports whether there was one.
func (m *Mirror) Unlock() (bool, error) {
	err := os.Remove(m.mark())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Remove removes the mirror from the disk.
func (m *Mirror) Remove(ctx context.Context) error {
	m.update.Lock()
	defer m.update.Unlock()
	free, err := m.lock(ctx)
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(m.dir()), free())
}

// Sweep removes mirrors below root whose keys are not in keep.
func Sweep(ctx context.Context, root string, keep map[string]bool) error {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var errs []error
	for _, e := range entries {
		name := e.Name()
		if raw, bad := hex.DecodeString(name); !e.IsDir() || keep[name] || bad != nil ||
			len(raw) != sha256.Size {
			continue
		}
		errs = append(errs, (&Mirror{o: Options{Root: root}, key: name}).Remove(ctx))
	}
	return errors.Join(append(errs, err)...)
}

// SSH reports whether the mirror is reached by ssh.
func (m *Mirror) SSH() bool { return m.addr.scheme == "ssh" }
