package pki

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/internal/atomicfile"
)

const (
	defaultMaxPending = 10_000
	defaultMaxOfOne   = 1_000
	defaultCacheSize  = 16_384
	autosignDir       = "minions_autosign"
)

// Options configure a Dir.
type Options struct {
	// permissive_pki_access: the group may read the directory (0750, else 0700)
	Permissive bool
	// maximum number of keys added by sign-ins per state Pending, Rejected and Denied; 0 means
	// 10,000, below 0 no limit
	MaxPending int
	MaxOfOne   int           // maximum per source address; 0 means 1,000, below 0 no limit
	Policy     crypto.Policy // minimum requirements for keys
	CacheSize  int           // maximum number of cached parsed keys; 0 means 16,384
}

func (o Options) mode() fs.FileMode {
	if o.Permissive {
		return 0o750
	}
	return 0o700
}

// A Dir is the pki_dir of a master: its own Keys, and the Store of its minions' keys in Salt's
// directory layout. It is safe for concurrent use.
type Dir struct {
	*Keys
	parsed *parsed
	counts map[State]*pending // for the states that sign-ins can fill
	often  denials
}

var _ Store = (*Dir)(nil)

// Open creates missing directories below dir and returns the tree. It keeps no file open.
func Open(dir string, o Options) (*Dir, error) {
	keys, err := OpenKeys(dir, o)
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{Accepted.Dir(), Pending.Dir(), Rejected.Dir(), Denied.Dir(),
		autosignDir} {
		r, err := enterNew(filepath.Join(dir, sub))
		if err != nil {
			return nil, fmt.Errorf("open pki_dir: %w", err)
		}
		r.leave()
	}
	return treeOf(keys, o), nil
}

// Visit returns the tree of a master for another program on its host. It creates nothing before a
// key is written, and never changes the permissions of dir. A missing directory contains no keys.
func Visit(dir string, o Options) *Dir {
	return treeOf(&Keys{path: dir, policy: o.Policy}, o)
}

func treeOf(keys *Keys, o Options) *Dir {
	d := &Dir{Keys: keys, parsed: newParsed(cmp.Or(o.CacheSize, defaultCacheSize))}
	d.counts = map[State]*pending{}
	for _, s := range []State{Pending, Rejected, Denied} {
		d.counts[s] = &pending{limit: cmp.Or(o.MaxPending, defaultMaxPending),
			each: cmp.Or(o.MaxOfOne, defaultMaxOfOne)}
	}
	return d
}

// AutosignDir returns the directory of ids to accept once, for Autosign.Dir.
func (d *Dir) AutosignDir() string { return filepath.Join(d.path, autosignDir) }

// room opens the directory of a state.
func (d *Dir) room(s State) (*room, error) {
	if s.Dir() == "" {
		return nil, fmt.Errorf("keys in state %s: %w", s, ErrNotFound)
	}
	return enterNew(filepath.Join(d.path, s.Dir()))
}

// with calls do for the key of an id and adds the key to its error.
func (d *Dir) with(s State, id string, do func(*room) error) error {
	err := safeName(id)
	if err != nil {
		return err
	}
	r, err := d.room(s)
	if err != nil {
		return err
	}
	defer r.leave()
	if err := do(r); err != nil {
		return fmt.Errorf("%s key of %s: %w", s, id, err)
	}
	return nil
}

// List returns the ids of the keys in a state, sorted like in salt-key. Hidden files, directories
// and the like are ignored. A missing directory contains no keys.
func (d *Dir) List(s State) ([]string, error) {
	if s.Dir() == "" {
		return nil, fmt.Errorf("keys in state %s: %w", s, ErrNotFound)
	}
	r, err := enter(filepath.Join(d.path, s.Dir()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.leave()
	ids, err := r.names()
	if err != nil {
		return nil, err
	}
	SortIDs(ids)
	return ids, nil
}

// SortIDs sorts ids like Salt's key listing: case-insensitively (salt/utils/data.py:
// sorted_ignorecase), and bytewise if they differ in case only.
func SortIDs(ids []string) {
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
}

// Get implements Store.
func (d *Dir) Get(s State, id string) (pem string, err error) {
	err = d.with(s, id, func(r *room) error {
		text, err := r.read(id)
		pem = string(text)
		return err
	})
	return pem, err
}

// Find implements Store.
func (d *Dir) Find(id string) (State, string, error) {
	for _, s := range []State{Rejected, Accepted, Pending} {
		pem, err := d.Get(s, id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		return s, pem, err
	}
	return Unknown, "", nil
}

// Create implements Store. The file has mode 0644; its directory is closed to other users.
func (d *Dir) Create(s State, id, pem string) error {
	return d.store(s, id, pem, netip.Prefix{}, (*room).create)
}

// Put implements Store.
func (d *Dir) Put(s State, id, pem string) error {
	return d.store(s, id, pem, netip.Prefix{}, (*room).replace)
}

// From returns d as a Store for sign-ins from one source, whose keys also count against
// Options.MaxOfOne.
func (d *Dir) From(source netip.Prefix) Store { return &guest{d, source} }

// A guest is a Dir for sign-ins from one source.
type guest struct {
	*Dir
	source netip.Prefix
}

// Create implements Store.
func (g *guest) Create(s State, id, pem string) error {
	return g.store(s, id, pem, g.source, (*room).create)
}

// Put implements Store.
func (g *guest) Put(s State, id, pem string) error {
	return g.store(s, id, pem, g.source, (*room).replace)
}

func (d *Dir) store(
	s State, id, pem string, source netip.Prefix,
	write func(*room, string, []byte, fs.FileMode) error,
) error {
	if err := ValidID(id); err != nil {
		return err
	}
	text, err := canonical(pem, d.policy)
	if err != nil {
		return fmt.Errorf("%s key of %s: %w", s, id, err)
	}
	return d.with(s, id, func(r *room) error {
		put := func() error { return write(r, id, []byte(text), publicMode) }
		if s == Denied && !d.often.allow(id) {
			return ErrTooOften
		}
		if count := d.counts[s]; count != nil {
			return count.add(r, id, source, put)
		}
		return put()
	})
}

// Move implements Store. It is a single rename unless the operator has put the directories on
// different file systems.
func (d *Dir) Move(id string, from, to State) error {
	if from == to {
		return d.with(from, id, func(r *room) error {
			_, err := r.regular(id)
			return err
		})
	}
	return d.with(from, id, func(source *room) error {
		if _, err := source.regular(id); err != nil {
			return err
		}
		return d.with(to, id, func(target *room) error { return d.move(id, source, target) })
	})
}

func (d *Dir) move(id string, source, target *room) error {
	err := d.in(func(base *room) error {
		return base.root.Rename(filepath.Base(source.path)+"/"+id,
			filepath.Base(target.path)+"/"+id)
	})
	if err == nil {
		return errors.Join(atomicfile.SyncDir(target.root, "."),
			atomicfile.SyncDir(source.root, "."))
	}
	text, err := source.read(id)
	if err != nil {
		return err
	}
	if err := target.replace(id, text, publicMode); err != nil {
		return err
	}
	return source.remove(id)
}

// Delete implements Store.
func (d *Dir) Delete(s State, id string) error {
	return d.with(s, id, func(r *room) error { return r.remove(id) })
}

// AcceptedKey returns the parsed accepted key of an id. It checks the file on every call, and reads
// it again if its time, size or inode has changed, so changes by an operator take effect at once.
// Errors wrap ErrNotFound, ErrNotFile, ErrInvalidID or those of crypto.ParsePublicKey.
func (d *Dir) AcceptedKey(id string) (key *crypto.PublicKey, err error) {
	if key := d.unchanged(id); key != nil {
		return key, nil
	}
	err = d.with(Accepted, id, func(r *room) error {
		info, err := r.regular(id)
		if err != nil {
			return err
		}
		if key = d.parsed.get(id, info); key != nil {
			return nil
		}
		key, err = d.parse(r, id)
		return err
	})
	return key, err
}

// unchanged returns the cached key of a file if the file has not changed, else nil. It checks the
// path directly instead of opening the directory, which would delay every request of a minion. That
// is safe because a file outside the directory never equals the one that was read inside.
func (d *Dir) unchanged(id string) *crypto.PublicKey {
	if safeName(id) != nil {
		return nil
	}
	info, err := os.Stat(filepath.Join(d.path, Accepted.Dir(), id))
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return d.parsed.get(id, info)
}

func (d *Dir) parse(r *room, id string) (*crypto.PublicKey, error) {
	text, info, err := r.readInfo(id)
	if err != nil {
		return nil, err
	}
	key := d.parsed.of(id, text)
	if key == nil {
		if key, err = d.policy.ParsePublicKey([]byte(crypto.CleanPEM(string(text)))); err != nil {
			return nil, err
		}
	}
	d.parsed.put(id, info, text, key)
	return key, nil
}
