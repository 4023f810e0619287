package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/internal/clock"
)

// A Shelf names a set of values. Each has a bucket of its own.
type Shelf string

// The shelves of a cluster.
const (
	Secrets Shelf = "secrets" // what the members share and nobody else may know
	Data    Shelf = "data"    // what is known of minions: grains, pillar, mine
	Batches Shelf = "batches" // batches under way
	Tokens  Shelf = "tokens"  // tokens of users
	Roster  Shelf = "roster"  // the masters that were ever members
)

func shelves() []Shelf { return []Shelf{Secrets, Data, Batches, Tokens, Roster} }

// MaxKey limits the key of a value, in bytes.
const MaxKey = 1024

// Values keeps small values for all members in a bucket of its own. Reads ask the leader of the
// stream; writes hold when a majority has them.
//
// A deleted value leaves a sealed mark, of about 100 bytes, for good: members that were away learn
// of the deletion, and NATS cannot undo it by dropping what came later. NATS can put an older value
// back: a call of Follow recognizes that for the keys that it has told, since each value is sealed
// together with the revision that it replaced.
//
// Values is safe for concurrent use. A member uses one Values a shelf.
type Values struct {
	c *Cluster
	b *bucket

	mu    sync.Mutex
	known map[string]uint64 // the revision of a key that Follow has seen last

	unread atomic.Bool // Follow has left out an entry of an unknown key
}

// A Value is a change of a key.
type Value struct {
	Key      string
	Body     []byte    // nil if the key was deleted
	Revision uint64    // its sequence in the stream: of two changes the later has the larger one
	At       time.Time // when it was stored, by the clock of a NATS server
}

// Values returns the values of a shelf.
func (c *Cluster) Values(shelf Shelf) *Values {
	return &Values{c: c, b: c.bucket(string(shelf)), known: map[string]uint64{}}
}

// A valueRecord is what is sealed for a key: one byte, the replaced revision as an unsigned varint,
// and the body of the value.
type valueRecord struct {
	deleted  bool
	replaced uint64
	body     []byte
}

const (
	recordDeleted = 0
	recordValue   = 1
)

func (r valueRecord) encode() []byte {
	kind := byte(recordValue)
	if r.deleted {
		kind = recordDeleted
	}
	out := append(make([]byte, 0, 1+binary.MaxVarintLen64+len(r.body)), kind)
	return append(binary.AppendUvarint(out, r.replaced), r.body...)
}

func readRecord(b []byte) (r valueRecord, err error) {
	if len(b) < 2 || b[0] > recordValue {
		return r, fmt.Errorf("%w: it is no record of a value", ErrSealed)
	}
	replaced, n := binary.Uvarint(b[1:])
	r = valueRecord{deleted: b[0] == recordDeleted, replaced: replaced, body: b[1+max(n, 0):]}
	if n <= 0 || r.deleted && len(r.body) > 0 {
		return r, fmt.Errorf("%w: it is no record of a value", ErrSealed)
	}
	if r.deleted {
		r.body = nil
	}
	return r, nil
}

// renewRecord returns the record of a value for being written once more.
func renewRecord(v value) ([]byte, error) {
	r, err := readRecord(v.body)
	if err != nil {
		return nil, err
	}
	r.replaced = v.revision
	return r.encode(), nil
}

// Get returns the value of a key and its revision. The body of a deleted key is nil; the revision is
// 0 if the key never had a value. If somebody without the cluster key has written it, the error wraps
// ErrSealed and the revision is that of the foreign entry, which Set can replace.
func (v *Values) Get(ctx context.Context, key string) (body []byte, revision uint64, err error) {
	if err := checkKey(key); err != nil {
		return nil, 0, err
	}
	got, err := v.b.get(ctx, key)
	if err != nil || got.revision == 0 {
		return nil, got.revision, err
	}
	r, err := readRecord(got.body)
	if err != nil {
		return nil, got.revision, fmt.Errorf("read %s of bucket %s: %w", key, v.b.name, err)
	}
	return r.body, got.revision, nil
}

// Set writes the value of a key if its revision is still the given one, 0 for a key that never had
// a value, and returns the new revision. A nil body deletes. Errors wrap ErrConflict if the revision
// is another, ErrTooLarge, ErrFull, ErrBusy, or ErrUnavailable, after which the value may have been
// stored.
func (v *Values) Set(ctx context.Context, key string, body []byte, revision uint64) (uint64, error) {
	if err := checkKey(key); err != nil {
		return 0, err
	}
	r := valueRecord{deleted: body == nil, replaced: max(revision, v.seen(key)), body: body}
	return v.b.set(ctx, key, r.encode(), revision)
}

// Put writes the value of a key, whatever it had, and returns the new revision. A nil body deletes.
// Errors are those of Set, except ErrConflict.
func (v *Values) Put(ctx context.Context, key string, body []byte) (uint64, error) {
	if err := checkKey(key); err != nil {
		return 0, err
	}
	revision := v.seen(key)
	for guess := revision != 0; ; guess = false {
		if !guess {
			got, err := v.b.get(ctx, key)
			if err != nil && !isForeign(err) {
				return 0, err
			}
			revision = got.revision
		}
		next, err := v.Set(ctx, key, body, revision)
		if !errors.Is(err, ErrConflict) {
			return next, err
		}
	}
}

// Delete removes the value of a key. A key without a value is no error; nothing is written then.
func (v *Values) Delete(ctx context.Context, key string) error {
	body, revision, err := v.Get(ctx, key)
	switch {
	case isForeign(err):
	case err != nil:
		return err
	case revision == 0 || body == nil:
		return nil
	}
	_, err = v.Put(ctx, key, nil)
	return err
}

// Identify returns the random mark under a key, by which the values are known from those of an earlier
// stream, and gives them one if they have none. A mark that nobody with the cluster key has written is
// replaced. It tries until ctx ends; the error is the cause of that.
func (v *Values) Identify(ctx context.Context, key string) (string, error) {
	for {
		mark, revision, err := v.Get(ctx, key)
		if err == nil && len(mark) > 0 {
			return string(mark), nil
		}
		if err == nil || isForeign(err) {
			_, err = v.Set(ctx, key, []byte(rand.Text()), revision)
		}
		if err == nil || errors.Is(err, ErrConflict) {
			continue
		}
		if err := clock.Sleep(ctx, longestPause); err != nil {
			return "", err
		}
	}
}

// Last returns the revision of the newest change, 0 if there was none.
func (v *Values) Last(ctx context.Context) (uint64, error) { return v.c.lastSequence(ctx, v.b.stream) }

// Follow calls handle, in order, for each change of any member after a revision, 0 for all, until ctx
// ends or handle fails. It calls synced, unless it is nil, when all is told that the stream had.
// Of several changes of a key only the last may come. Entries that somebody without the cluster key
// has written, and older values that were put back, are logged and left out, and those of an UnknownKey.
//
// Errors are those of handle, or wrap ErrRestarted if the stream is another.
func (v *Values) Follow(ctx context.Context, after uint64, synced func(), handle func(Value) error) error {
	last := map[string]uint64{} // revisions by key; an earlier stream had others
	f := &follower{c: v.c, stream: v.b.stream, after: after, handle: func(m message) error {
		got, err := v.read(m, last)
		switch {
		case v.c.leaveOut(v.b.stream, m.sequence, err):
			v.unread.Store(true)
			return nil
		case errors.Is(err, ErrSealed), errors.Is(err, ErrOutdated):
			v.c.o.Log.WithError(err).Errorf("entry %d of bucket %s is ignored", m.sequence, v.b.name)
			return nil
		case err != nil:
			return err
		}
		return handle(got)
	}}
	if synced != nil {
		f.idle = sync.OnceFunc(synced)
	}
	return f.run(ctx)
}

// Unread reports whether Follow has left out an entry of an UnknownKey. With that key it has to be read
// again.
func (v *Values) Unread() bool { return v.unread.Load() }

// read opens a message and checks that it is not older than the last revision of its key.
func (v *Values) read(m message, last map[string]uint64) (Value, error) {
	key, got, err := v.b.read(m)
	if err != nil {
		return Value{}, err
	}
	if err := checkKey(key); err != nil {
		return Value{}, fmt.Errorf("%w: %w", ErrSealed, err)
	}
	r, err := readRecord(got.body)
	if err != nil {
		return Value{}, err
	}
	if r.replaced < last[key] {
		return Value{}, fmt.Errorf("%w: it replaced revision %d, the last one of %q was %d", ErrOutdated,
			r.replaced, key, last[key])
	}
	last[key] = m.sequence
	v.mu.Lock()
	defer v.mu.Unlock()
	v.known[key] = m.sequence
	return Value{Key: key, Body: r.body, Revision: m.sequence, At: m.at}, nil
}

// seen returns the last revision that Follow has seen of a key, 0 if none.
func (v *Values) seen(key string) uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.known[key]
}

func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("the key of a value is empty")
	case len(key) > MaxKey:
		return fmt.Errorf("%w: the key of a value has %d bytes, allowed are %d", ErrTooLarge, len(key), MaxKey)
	}
	return nil
}
