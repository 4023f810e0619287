// Package replica makes the cache of a master one for all members of a cluster.
//
// Each member keeps its full copy in a cache of its own, so that reads cost what they cost without
// a cluster. Changes go to all members through a shelf of cluster.Values. Of several changes of a key
// the last one in the stream wins, on every member.
//
// # Durable and lazy banks
//
// A change of a durable bank returns when a quorum has it, and then the member's own copy. It fails
// without a quorum.
//
// A change of a lazy bank returns when the member's own copy has it. Its name waits until it is sent,
// with the value that the copy has then. Names that wait are in a file, which outlives the process.
// If too many wait, the copy is compared with the whole shelf instead, and of what differs is sent what no
// other member has changed since. A value that the copy had already is not sent.
//
// While a change waits, changes of the same key by other members are left out, since the one that
// waits will be the last. Only what this member has deleted in the meantime can differ: if more
// changes wait than are counted, a change by another member wins over it.
//
// # Members that were away
//
// A member continues at its saved position. Without one, which is so after a crash too, it reads the
// whole shelf: what the shelf has replaces what the copy has, except for names that wait, and what
// only the copy has is sent. The same happens if NATS has lost the stream.
package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"path/filepath"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/logging"
)

// A Shelf is what a Bank needs of cluster.Values.
type Shelf interface {
	Get(ctx context.Context, key string) (body []byte, revision uint64, err error)
	Set(ctx context.Context, key string, body []byte, revision uint64) (uint64, error)
	Put(ctx context.Context, key string, body []byte) (uint64, error)
	Follow(ctx context.Context, after uint64, synced func(), handle func(cluster.Value) error) error
	Identify(ctx context.Context, key string) (mark string, err error)
	Unread() bool
}

var _ Shelf = (*cluster.Values)(nil)

// Options configure a Bank.
type Options struct {
	// Dir is an existing directory for the position and the names that wait. It belongs to the local
	// cache: who removes one removes both.
	Dir string
	// Lazy and Durable are the banks that are shared, each with all banks below it. Others stay local.
	Lazy, Durable []string
	// Changed is called after a change by another member was applied; it must be quick. nil means
	// nobody.
	Changed func(bank, key string)
	// Timeout limits how long a change of a durable bank takes; 0 means 5 s.
	Timeout time.Duration
	// MaxWaiting limits the names that wait; 0 means 10,000.
	MaxWaiting int
	Log        logrus.FieldLogger // nil means no log
}

const (
	defaultTimeout = 5 * time.Second
	defaultWaiting = 10_000
	stripes        = 64
)

// A Bank is a cache.Bank that is one for all members. It is safe for concurrent use. Changes are sent
// and received while Run runs.
type Bank struct {
	local  cache.Bank
	shared Shelf
	o      Options

	// The stripe of a bank is held while the copy of a key changes, together with what is known about the key.
	// It is taken before mu.
	seed    maphash.Seed
	stripes [stripes]sync.Mutex

	mu sync.Mutex
	state
}

var _ cache.Bank = (*Bank)(nil)

// Open returns a Bank on top of a local cache, with the changes that waited when it was used last.
// The caller closes it, after Run has returned.
func Open(local cache.Bank, shared Shelf, o Options) (*Bank, error) {
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxWaiting == 0 {
		o.MaxWaiting = defaultWaiting
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	if o.Changed == nil {
		o.Changed = func(string, string) {}
	}
	b := &Bank{local: local, shared: shared, o: o, seed: maphash.MakeSeed(), state: newState()}
	var names []string
	var err error
	b.journal, names, b.overflow, err = openJournal(filepath.Join(o.Dir, "waiting"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if bank, _, err := split(name); err == nil && b.modeOf(bank) != private {
			b.add(name)
		}
	}
	return b, nil
}

// Close releases the file of the names that wait.
func (b *Bank) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.journal.close()
}

// Fetch returns the value of key that this member has.
func (b *Bank) Fetch(bank, key string) ([]byte, error) { return b.local.Fetch(bank, key) }

// List returns the keys and banks below bank that this member has.
func (b *Bank) List(bank string) ([]string, error) { return b.local.List(bank) }

// Updated returns when this member set key or was told of its change.
func (b *Bank) Updated(bank, key string) (time.Time, error) { return b.local.Updated(bank, key) }

// Store sets the value of key. In a durable bank errors wrap those of cluster.Values.Put, and the
// copy is unchanged; after cluster.ErrUnavailable the value may still become that of all members.
func (b *Bank) Store(bank, key string, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return b.change(bank, key, value)
}

// Flush removes key, or the whole bank if key is empty, on all members.
func (b *Bank) Flush(bank, key string) error {
	if key == "" {
		return b.drop(bank)
	}
	return b.change(bank, key, nil)
}

// change sets the value of a key, or removes it if value is nil.
func (b *Bank) change(bank, key string, value []byte) error {
	name, err := join(bank, key)
	if err != nil {
		return err
	}
	switch b.modeOf(bank) {
	case lazy:
		return b.changeLazily(entry{name, bank, key}, value)
	case durable:
		return b.changeDurably(entry{name, bank, key}, value)
	case private:
	}
	if value == nil {
		return b.local.Flush(bank, key)
	}
	return b.local.Store(bank, key, value)
}

// write changes the copy. A bank that becomes empty is removed, so that all members list the same;
// the caller holds its stripe.
func (b *Bank) write(bank, key string, value []byte) error {
	if value != nil {
		return b.local.Store(bank, key, value)
	}
	if err := b.local.Flush(bank, key); err != nil {
		return err
	}
	if second(bank) == "" {
		return nil // others may be adding banks below it
	}
	names, err := b.local.List(bank)
	if err != nil || len(names) > 0 {
		return err
	}
	return b.local.Flush(bank, "")
}

// read returns the value of the copy, nil if it has none.
func (b *Bank) read(bank, key string) ([]byte, error) {
	value, err := b.local.Fetch(bank, key)
	switch {
	case errors.Is(err, cache.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case value == nil:
		value = []byte{}
	}
	return value, nil
}

// same reports whether two values are equal; nil is none.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// changeLazily changes the copy and lets the name wait, unless the copy has the value already.
func (b *Bank) changeLazily(e entry, value []byte) error {
	stripe := b.stripe(e.bank)
	stripe.Lock()
	defer stripe.Unlock()
	if b.Current() {
		if old, err := b.read(e.bank, e.key); err == nil && same(old, value) {
			return b.write(e.bank, e.key, value) // for the time of the change
		}
	}
	undo, err := b.note(e.name)
	if err != nil {
		return fmt.Errorf("note change of cache entry %s: %w", e.name, err)
	}
	if err := b.write(e.bank, e.key, value); err != nil {
		undo()
		return err
	}
	b.ready(e.name)
	return nil
}

// changeDurably writes to the cluster, and then to the copy.
func (b *Bank) changeDurably(e entry, value []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), b.o.Timeout)
	defer cancel()
	if err := b.depart(ctx, e.name); err != nil {
		return fmt.Errorf("share cache entry %s: %w", e.name, err)
	}
	revision, err := b.shared.Put(ctx, e.name, value)
	if err != nil {
		return errors.Join(fmt.Errorf("share cache entry %s: %w", e.name, err), b.land(e, 0, nil))
	}
	return b.land(e, revision, func() error { return b.write(e.bank, e.key, value) })
}

// drop removes a whole bank, with those below it.
func (b *Bank) drop(bank string) error {
	if err := checkBank(bank); err != nil {
		return err
	}
	entries, err := b.below(bank)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if b.modeOf(e.bank) == durable {
			if err := b.changeDurably(e, nil); err != nil {
				return err
			}
		}
	}
	for i := range b.stripes {
		b.stripes[i].Lock()
		defer b.stripes[i].Unlock()
	}
	var noted []entry
	var undo []func()
	back := func() {
		for _, f := range undo {
			f()
		}
	}
	if entries, err = b.below(bank); err != nil { // with what has come since
		return err
	}
	for _, e := range entries {
		f, err := b.note(e.name)
		if err != nil {
			back()
			return fmt.Errorf("note change of cache entry %s: %w", e.name, err)
		}
		noted, undo = append(noted, e), append(undo, f)
	}
	err = b.local.Flush(bank, "")
	for _, e := range noted { // some may be gone in spite of an error
		b.ready(e.name)
	}
	return err
}

// below returns the shared entries of the copy in a bank and the banks below it.
func (b *Bank) below(bank string) ([]entry, error) {
	var all []entry
	err := b.walk(bank, func(e entry) error {
		if b.modeOf(e.bank) != private {
			all = append(all, e)
		}
		return nil
	})
	return all, err
}

// walk calls see for each entry of the copy in a bank and those below it, until it fails.
func (b *Bank) walk(bank string, see func(entry) error) error {
	names, err := b.local.List(bank)
	if err != nil {
		return err
	}
	for _, n := range names {
		if _, err := b.local.Updated(bank, n); err == nil {
			if err := see(entry{bank + "/" + n, bank, n}); err != nil {
				return err
			}
		}
		if err := b.walk(bank+"/"+n, see); err != nil {
			return err
		}
	}
	return nil
}

// stripe returns the lock of a bank. It is that of the second bank of its path, so that nobody adds
// to a bank that is removed.
func (b *Bank) stripe(bank string) *sync.Mutex {
	return &b.stripes[maphash.String(b.seed, second(bank))%stripes]
}
