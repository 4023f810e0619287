package cluster

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/pki"
)

// ErrOutdated is wrapped if NATS shows an older record of an id than it showed before.
var ErrOutdated = errors.New("an older record was put back")

// KeyOptions configure Keys.
type KeyOptions struct {
	MaxPending int           // limit of keys in each state except accepted; 0 means 10,000, below 0 none
	Timeout    time.Duration // of the methods without a context; 0 means 5 s
}

// Keys keeps the public keys of minions for all members. Reads are answered from memory, which
// follows the bucket within milliseconds. Changes are written by compare-and-set and hold when a
// majority has them.
//
// Keys is a pki.Store, so that sign-ins can be judged on it. A member that also has the keys in
// files follows Changes, and passes on changes of the files with Propose. It is safe for concurrent
// use.
type Keys struct {
	c *Cluster
	b *bucket
	o KeyOptions

	cancel context.CancelFunc
	done   chan struct{}
	synced chan struct{} // closed when the bucket has been read once

	mu       sync.Mutex
	records  map[string]KeyRecord
	broken   map[string]error // maxBroken records that cannot be opened, of ids without an earlier record
	more     bool             // there were more of them
	counts   map[pki.State]int
	watchers map[*watcher]struct{}
	failed   error // why the bucket is no longer followed
}

var _ pki.Store = (*Keys)(nil)

// A KeyRecord is what the cluster knows about one id.
type KeyRecord struct {
	ID       string
	Keys     KeySet
	Member   string // who changed it last
	Revision uint64 // of the bucket; 0 if there was never a key

	generation uint64 // rises by one with each change of the id
}

// Generation returns the number of changes of the id so far. Unlike Revision it stays the same when
// the record is only sealed anew.
func (r KeyRecord) Generation() uint64 { return r.generation }

// keyRecord is a record in the bucket. A deleted id keeps an empty one, so that NATS cannot undo a
// decision by dropping it.
type keyRecord struct {
	ID         string `codec:"id"`
	Generation uint64 `codec:"generation"`
	Member     string `codec:"member"`
	Keys       KeySet `codec:"keys"`
}

// OpenKeys returns the keys when all are read. Call Close before that of the Cluster.
func (c *Cluster) OpenKeys(ctx context.Context, o KeyOptions) (*Keys, error) {
	if o.MaxPending == 0 {
		o.MaxPending = 10_000
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	k := &Keys{c: c, b: c.bucket(forKeys), o: o, done: make(chan struct{}), synced: make(chan struct{}),
		records: map[string]KeyRecord{}, broken: map[string]error{}, counts: map[pki.State]int{},
		watchers: map[*watcher]struct{}{}}
	var following context.Context
	following, k.cancel = context.WithCancel(context.Background())
	go k.follow(following)
	select {
	case <-k.synced:
		return k, nil
	case <-k.done:
		return nil, k.problem()
	case <-ctx.Done():
		k.Close()
		return nil, fmt.Errorf("read the keys of cluster %s: %w: %w", c.o.Name, ErrUnavailable, ctx.Err())
	}
}

// Close ends the following of the bucket. Iterators of Changes end.
func (k *Keys) Close() {
	k.cancel()
	<-k.done
}

// follow applies the messages of the bucket until ctx ends.
func (k *Keys) follow(ctx context.Context) {
	defer close(k.done)
	f := &follower{c: k.c, stream: k.b.stream, handle: k.take,
		idle: sync.OnceFunc(func() { close(k.synced) })}
	if err := f.run(ctx); err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.failed = fmt.Errorf("follow the keys of cluster %s: %w", k.c.o.Name, err)
		k.c.o.Log.WithError(k.failed).Error("minion keys are no longer current")
	}
}

func (k *Keys) problem() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}

// take applies one message. What others write into the bucket must not end the following.
func (k *Keys) take(m message) error {
	id, v, err := k.b.read(m)
	if err == nil {
		var r KeyRecord
		if r, err = readKeys(id, v); err == nil {
			k.apply(r)
			return nil
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noteBroken(id, err)
	if k.c.leaveOut(k.b.stream, m.sequence, err) || k.c.forged(k.b.stream, m.sequence, err) {
		return nil
	}
	k.c.o.Log.WithError(err).Errorf("a record of the key of %q is ignored", id)
	return nil
}

// maxBroken is how many records that cannot be opened are remembered at most: a stranger can write any number
// of them.
const maxBroken = 4096

// noteBroken remembers that the record of an id cannot be opened, unless an earlier one is known. The caller
// holds mu.
func (k *Keys) noteBroken(id string, err error) {
	_, known := k.records[id]
	_, noted := k.broken[id]
	switch {
	case known || pki.ValidID(id) != nil:
	case !noted && len(k.broken) >= maxBroken:
		k.more = true
	default:
		k.broken[id] = err
	}
}

// readKeys decodes the record of an id.
func readKeys(id string, v value) (KeyRecord, error) {
	if v.revision == 0 {
		return KeyRecord{ID: id}, nil
	}
	var r keyRecord
	if err := typed.Unmarshal(v.body, payload.WireLimits(), &r); err != nil {
		return KeyRecord{}, err
	}
	if r.ID != id {
		return KeyRecord{}, fmt.Errorf("%w: it is of %q", ErrSealed, r.ID)
	}
	if err := pki.ValidID(id); err != nil {
		return KeyRecord{}, err
	}
	return KeyRecord{id, r.Keys, r.Member, v.revision, r.Generation}, nil
}

// apply replaces the record of an id by a newer one.
func (k *Keys) apply(r KeyRecord) {
	k.mu.Lock()
	defer k.mu.Unlock()
	old := k.records[r.ID]
	if r.Revision <= old.Revision {
		return
	}
	if r.generation < old.generation {
		k.c.forged(k.b.stream, r.Revision, fmt.Errorf("%w: of the key of %q", ErrOutdated, r.ID))
		return
	}
	for _, state := range pki.States() {
		if old.Keys.Get(state) != "" {
			k.counts[state]--
		}
		if r.Keys.Get(state) != "" {
			k.counts[state]++
		}
	}
	k.records[r.ID] = r
	delete(k.broken, r.ID)
	if r.Keys == old.Keys {
		return
	}
	for w := range k.watchers {
		w.add(r.ID)
	}
}

// Record returns what is known about an id. The error says that the record cannot be read, or that
// the bucket is no longer followed.
func (k *Keys) Record(id string) (KeyRecord, error) {
	r, known, err := k.known(id)
	if err != nil {
		return KeyRecord{}, fmt.Errorf("key of %s: %w", id, err)
	}
	if !known { // its record may be one of those that are not remembered
		ctx, cancel := context.WithTimeout(context.Background(), k.o.Timeout)
		defer cancel()
		v, err := k.b.get(ctx, id)
		if err == nil {
			r, err = readKeys(id, v)
		}
		if err != nil {
			return KeyRecord{}, fmt.Errorf("key of %s: %w", id, err)
		}
	}
	r.ID = id
	return r, nil
}

// known returns the record of an id in memory. known is false if there is none and the bucket may have one
// that cannot be read.
func (k *Keys) known(id string) (r KeyRecord, known bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed != nil {
		return r, true, k.failed
	}
	r, known = k.records[id]
	return r, known || !k.more, k.broken[id]
}

// Propose changes the keys of an id to want, on the grounds of the record with the revision base. If
// the record has changed since, the outcome is Stricter of both and conflict is true. It returns the
// record that holds now. Nothing is written if that is the one already.
func (k *Keys) Propose(
	ctx context.Context, id string, base uint64, want KeySet,
) (now KeyRecord, conflict bool, err error) {
	if err := pki.ValidID(id); err != nil {
		return now, false, err
	}
	now, err = k.change(ctx, id, func(stored KeyRecord) (KeySet, error) {
		conflict = stored.Revision != base && stored.Keys != want
		if conflict {
			return Stricter(stored.Keys, want), nil
		}
		return want, nil
	})
	return now, conflict, err
}

// Update replaces the keys of an id by what decide returns for the record that holds. decide may be
// called repeatedly, when other members interfere. Update returns the record that holds now. Nothing
// is written if that is the one already. Errors wrap ErrUnavailable, ErrOutdated or pki.ErrInvalidID.
func (k *Keys) Update(ctx context.Context, id string, decide func(KeyRecord) KeySet) (KeyRecord, error) {
	if err := pki.ValidID(id); err != nil {
		return KeyRecord{}, err
	}
	return k.change(ctx, id, func(stored KeyRecord) (KeySet, error) {
		stored.ID = id
		return decide(stored), nil
	})
}

// change replaces the keys of an id by what decide returns for the stored record, until no other
// member interferes.
func (k *Keys) change(
	ctx context.Context, id string, decide func(KeyRecord) (KeySet, error),
) (KeyRecord, error) {
	for {
		now, err := k.changeOnce(ctx, id, decide)
		if errors.Is(err, ErrConflict) {
			continue
		}
		if err != nil {
			return KeyRecord{}, fmt.Errorf("change key of %s: %w", id, err)
		}
		return now, nil
	}
}

// changeOnce is change for one attempt; its error wraps ErrConflict if another member interfered.
func (k *Keys) changeOnce(
	ctx context.Context, id string, decide func(KeyRecord) (KeySet, error),
) (KeyRecord, error) {
	k.mu.Lock()
	known := k.records[id].generation // before the read, which then cannot be older
	k.mu.Unlock()
	v, err := k.b.get(ctx, id)
	if err != nil {
		return KeyRecord{}, err
	}
	stored, err := readKeys(id, v)
	if err != nil {
		return stored, err
	}
	if stored.generation < known {
		return stored, ErrOutdated
	}
	keys, err := decide(stored)
	if err != nil || keys == stored.Keys {
		return stored, err
	}
	now := KeyRecord{ID: id, Keys: keys, Member: k.c.o.Member, generation: stored.generation + 1}
	body, err := typed.Marshal(&keyRecord{ID: id, Generation: now.generation, Member: now.Member, Keys: keys})
	if err != nil {
		return stored, err
	}
	if now.Revision, err = k.b.set(ctx, id, body, v.revision); err != nil {
		return stored, err
	}
	k.apply(now)
	return now, nil
}

// Changes returns the record of each id that has keys, and then those that change, until ctx ends or
// Keys is closed. Of several changes of an id in short time it returns the last. A record whose
// Keys are empty is that of an id whose keys were deleted.
func (k *Keys) Changes(ctx context.Context) iter.Seq[KeyRecord] {
	return func(yield func(KeyRecord) bool) {
		w := &watcher{ids: map[string]struct{}{}, wake: make(chan struct{}, 1)}
		k.mu.Lock()
		k.watchers[w] = struct{}{}
		for id, r := range k.records {
			if r.Keys != (KeySet{}) {
				w.add(id)
			}
		}
		k.mu.Unlock()
		defer func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			delete(k.watchers, w)
		}()
		for {
			for r, ok := k.next(w); ok; r, ok = k.next(w) {
				if ctx.Err() != nil || !yield(r) {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-k.done:
				return
			case <-w.wake:
			}
		}
	}
}

// next returns the record of an id that w has not seen.
func (k *Keys) next(w *watcher) (KeyRecord, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id := range w.ids {
		delete(w.ids, id)
		return k.records[id], true
	}
	return KeyRecord{}, false
}

// A watcher has the ids whose changes one caller of Changes has not seen. Keys.mu guards it.
type watcher struct {
	ids  map[string]struct{}
	wake chan struct{}
}

func (w *watcher) add(id string) {
	w.ids[id] = struct{}{}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
