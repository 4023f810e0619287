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

	"github.com/nats-io/nats.go/jetstream"

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
// A deleted value leaves a sealed mark, of about 100 bytes: members that were away learn of the
// deletion, and NATS cannot undo it by dropping what came later. The mark stays until Drop removes it,
// which is for values that nobody could use any more. NATS can put an older value
// back: a call of Follow recognizes that for the keys that it has told, since each value is sealed
// together with the revision that it replaced.
//
// Values is safe for concurrent use. A member uses one Values a shelf.
type Values struct {
	c *Cluster
	b *bucket

	mu      sync.Mutex
	known   map[string]uint64               // the revision of a key that Follow has seen last
	follows map[*map[string]uint64]struct{} // the same, of each call of Follow
	newest  uint64                          // the revision that Follow has seen last

	unread atomic.Bool // Follow has left out an entry of an unknown key
}

// A Value is a change of a key.
type Value struct {
	Key      string
	Body     []byte    // nil if the key was deleted
	Note     []byte    // of a deleted key: what Bury has left; nil if nothing
	Revision uint64    // its sequence in the stream: of two changes the later has the larger one
	At       time.Time // when it was stored, by the clock of a NATS server
}

// Values returns the values of a shelf.
func (c *Cluster) Values(shelf Shelf) *Values {
	return &Values{c: c, b: c.bucket(string(shelf)), known: map[string]uint64{},
		follows: map[*map[string]uint64]struct{}{}}
}

// A valueRecord is what is sealed for a key: one byte, the replaced revision as an unsigned varint,
// and the body of the value, or the note of a deleted one.
type valueRecord struct {
	deleted  bool
	replaced uint64
	body     []byte // nil if it is deleted
	note     []byte // of a deleted one; nil if there is none
}

const (
	recordDeleted = 0
	recordValue   = 1
)

func (r valueRecord) encode() []byte {
	kind, rest := byte(recordValue), r.body
	if r.deleted {
		kind, rest = recordDeleted, r.note
	}
	out := append(make([]byte, 0, 1+binary.MaxVarintLen64+len(rest)), kind)
	return append(binary.AppendUvarint(out, r.replaced), rest...)
}

func readRecord(b []byte) (r valueRecord, err error) {
	if len(b) < 2 || b[0] > recordValue {
		return r, fmt.Errorf("%w: it is no record of a value", ErrSealed)
	}
	replaced, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return r, fmt.Errorf("%w: it is no record of a value", ErrSealed)
	}
	r = valueRecord{deleted: b[0] == recordDeleted, replaced: replaced, body: b[1+n:]}
	if r.deleted && len(r.body) > 0 {
		r.note = r.body
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
	got, err := v.Look(ctx, key)
	return got.Body, got.Revision, err
}

// Look is Get for all that is known of a key.
func (v *Values) Look(ctx context.Context, key string) (Value, error) {
	if err := checkKey(key); err != nil {
		return Value{}, err
	}
	got, err := v.b.get(ctx, key)
	value := Value{Key: key, Revision: got.revision, At: got.at}
	if err != nil || got.revision == 0 {
		return value, err
	}
	r, err := readRecord(got.body)
	if err != nil {
		return value, fmt.Errorf("read %s of bucket %s: %w", key, v.b.name, err)
	}
	value.Body, value.Note = r.body, r.note
	return value, nil
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

// Bury deletes the value of a key, as Set does, and leaves a note in the mark, for Follow and Look.
func (v *Values) Bury(ctx context.Context, key string, note []byte, revision uint64) (uint64, error) {
	if err := checkKey(key); err != nil {
		return 0, err
	}
	r := valueRecord{deleted: true, replaced: max(revision, v.seen(key)), note: note}
	return v.b.set(ctx, key, r.encode(), revision)
}

// ErrNewest is wrapped if a mark cannot be dropped yet, since the shelf has no later change.
var ErrNewest = errors.New("it is the newest change")

// Drop removes the mark of a deleted key from the shelf, if its revision is the given one. A member that
// was away does not learn of the deletion then, and an older value that NATS puts back counts as a new
// one. A mark that is gone is no error. Errors wrap ErrConflict if the key has another revision or a
// value, ErrNewest unless Follow has told a later change of the shelf, or ErrUnavailable.
func (v *Values) Drop(ctx context.Context, key string, revision uint64) error {
	got, err := v.Look(ctx, key)
	switch {
	case err != nil:
		return err
	case got.Revision == 0:
		v.forget(key)
		return nil
	case got.Revision != revision || got.Body != nil:
		return fmt.Errorf("drop the mark of %s of bucket %s: %w", key, v.b.name, ErrConflict)
	case !v.isPast(revision): // without its last message nobody could tell where the stream ends
		return fmt.Errorf("drop the mark of %s of bucket %s: %w", key, v.b.name, ErrNewest)
	}
	err = v.c.patiently(ctx, func(ctx context.Context) error {
		s, err := v.c.handle(ctx, v.b.stream)
		if err == nil {
			err = s.Purge(ctx, jetstream.WithPurgeSubject(v.b.subject(encode(key))),
				jetstream.WithPurgeSequence(revision+1))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("drop the mark of %s of bucket %s: %w", key, v.b.name, err)
	}
	v.forget(key)
	return nil
}

// isPast reports whether Follow has seen a later revision.
func (v *Values) isPast(revision uint64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return revision < v.newest
}

// forget forgets the revisions of a key.
func (v *Values) forget(key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.known, key)
	for last := range v.follows {
		delete(*last, key)
	}
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
// has written, and older values that were put back, are left out, and those of an UnknownKey. They are
// counted, and few of them are logged.
//
// Errors are those of handle, or wrap ErrRestarted if the stream is another.
func (v *Values) Follow(ctx context.Context, after uint64, synced func(), handle func(Value) error) error {
	last := map[string]uint64{} // revisions by key; an earlier stream had others
	v.mu.Lock()
	v.follows[&last], v.newest = struct{}{}, 0
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(v.follows, &last)
	}()
	f := &follower{c: v.c, stream: v.b.stream, after: after, handle: func(m message) error {
		got, err := v.read(m, last)
		switch {
		case v.c.leaveOut(v.b.stream, m.sequence, err):
			v.unread.Store(true)
			return nil
		case v.c.forged(v.b.stream, m.sequence, err):
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
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.replaced < last[key] {
		return Value{}, fmt.Errorf("%w: it replaced revision %d, the last one of %q was %d", ErrOutdated,
			r.replaced, key, last[key])
	}
	last[key], v.known[key], v.newest = m.sequence, m.sequence, m.sequence
	return Value{Key: key, Body: r.body, Note: r.note, Revision: m.sequence, At: m.at}, nil
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
