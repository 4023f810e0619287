package keyfiles

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/pki"
)

const (
	batch      = 256 // ids between two scans
	workers    = 8
	rounds     = 8               // while files change
	answerTime = 2 * time.Second // how long one change waits for NATS
)

var (
	errGone     = errors.New("the files are gone, which has to be confirmed")
	errChanging = errors.New("the files change all the time")
)

// work reconciles a part of the queue.
func (f *Files) work(ctx context.Context) {
	ids, more := f.queue.take(batch)
	var down atomic.Bool
	next := make(chan string)
	var all sync.WaitGroup
	for range min(workers, len(ids)) {
		all.Go(func() {
			for id := range next {
				f.try(ctx, id, &down)
			}
		})
	}
	for _, id := range ids {
		next <- id
	}
	close(next)
	all.Wait()
	switch {
	case more:
		f.queue.signal()
	case f.queue.empty() && !f.restarted.Load() && !f.lastFull.IsZero():
		f.agreed.Store(true)
	}
}

// try reconciles an id. After the first that waits for NATS in vain, down is set, and others do not
// wait.
func (f *Files) try(ctx context.Context, id string, down *atomic.Bool) {
	if pki.ValidID(id) != nil {
		return // no key has such a name
	}
	if down.Load() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	err := f.reconcile(ctx, id, false)
	if err == nil {
		f.queue.done(id)
		return
	}
	news := f.queue.postpone(id, err)
	switch {
	case ctx.Err() != nil || errors.Is(err, errGone):
	case errors.Is(err, errAbsent) || errors.Is(err, errForeign): // which scan logs
	case errors.Is(err, cluster.ErrUnavailable):
		if !down.Swap(true) && f.queue.isDown(true) {
			f.o.Log.WithError(err).Warn("changes of minion keys wait for the cluster")
		}
	case news:
		f.o.Log.WithError(err).Errorf("the key of %s is not kept equal with the cluster", id)
	}
}

// reconcile makes files and cluster equal for an id. With explicit the caller vouches for a
// deletion.
func (f *Files) reconcile(ctx context.Context, id string, explicit bool) error {
	if err := f.check(); err != nil {
		return err
	}
	f.session.RLock()
	defer f.session.RUnlock()
	defer f.busy.lock(id)()
	for range rounds {
		done, err := f.once(ctx, id, explicit)
		if done || err != nil {
			return err
		}
	}
	return errChanging
}

// once is reconcile for files that do not change meanwhile; else it returns false.
func (f *Files) once(ctx context.Context, id string, explicit bool) (done bool, err error) {
	local, readErr := f.read(id)
	if err := f.tree.inspect(); err != nil { // else the files were those of other directories
		return false, err
	}
	now, err := f.keys.Record(id)
	if err != nil {
		return false, err
	}
	// what waits without a base was never equal
	v := view{base: f.journal.get(id), settled: f.agreed.Load() && !f.queue.waits(id), member: f.o.Member}
	if readErr != nil {
		return f.replace(id, v, now, readErr)
	}
	if f.mayBeLost(id, v, local, now, explicit) {
		return false, errGone
	}
	before := now
	want, why := v.merge(local, recordOf(now))
	if want != now.Keys {
		before, now, why, err = f.propose(ctx, id, v, local)
		if err != nil {
			return false, ignore(err, errChanging)
		}
	}
	if now.Keys != local {
		if again, err := f.read(id); err != nil || again != local {
			return false, err
		}
		if err := f.apply(id, local, now.Keys); err != nil {
			return false, err
		}
	}
	return true, f.finish(id, local, before, now, why)
}

// propose merges the files with the record that NATS has, and returns that record and what has become
// of it. The error is errChanging if the files are no longer those of local, as after a wait for NATS.
func (f *Files) propose(
	ctx context.Context, id string, v view, local cluster.KeySet,
) (before, now cluster.KeyRecord, why outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	changed := false
	now, err = f.keys.Update(ctx, id, func(r cluster.KeyRecord) (want cluster.KeySet) {
		if again, err := f.read(id); err != nil || again != local {
			changed = true
			return r.Keys
		}
		changed, before = false, r
		want, why = v.merge(local, recordOf(r))
		return want
	})
	if err == nil {
		f.queue.isDown(false)
		if changed {
			err = errChanging
		}
	}
	return before, now, why, err
}

// mayBeLost reports whether the files of an id may be missing by accident, so that nothing follows
// from it yet. After the loss of an accepted key its minion signs in, which makes a pending one.
func (f *Files) mayBeLost(
	id string, v view, local cluster.KeySet, now cluster.KeyRecord, explicit bool,
) bool {
	none := local == cluster.KeySet{}
	if v.base == nil || v.base.keys == (sums{}) || local == now.Keys ||
		!none && (v.base.keys[0] == (sum{}) || !isSignIn(local)) {
		f.gone.forget(id)
		return false
	}
	return !(explicit && none) && !f.gone.confirmed(id, time.Now())
}

// finish records that files and cluster are equal, and tells of it. before is the record that was
// merged with the files.
func (f *Files) finish(id string, local cluster.KeySet, before, now cluster.KeyRecord, why outcome) error {
	if why == conflict {
		f.conflicts.Add(1)
		f.o.Log.Warnf("key of %s: %s here, %s of %s at the same time; what holds is %s", id, describe(local),
			describe(before.Keys), before.Member, describe(now.Keys))
	}
	f.gone.forget(id)
	err := f.journal.set(id, base{generation: now.Generation(), keys: sumsOf(now.Keys)})
	if now.Keys != local && f.o.Changed != nil {
		f.o.Changed(id, local, now.Keys)
	}
	if err != nil {
		f.o.Log.WithError(err).Error("after a crash keys may be taken for changed")
	}
	return nil
}

// replace writes a change of the cluster over files that cannot be read. Without one it returns the
// error of reading.
func (f *Files) replace(id string, v view, now cluster.KeyRecord, unread error) (done bool, err error) {
	if v.base == nil || now.Generation() <= v.base.generation {
		return false, unread
	}
	changes := func(pki.State) bool { return true }
	if err := f.write(id, now.Keys, changes, changes); err != nil {
		return false, err
	}
	return true, f.finish(id, cluster.KeySet{}, now, now, theirs)
}

// read returns the keys of an id in the files. Since a key that is moved meanwhile may be seen in
// both directories or in none, it reads until it sees the same twice.
func (f *Files) read(id string) (cluster.KeySet, error) {
	last, err := f.readOnce(id)
	for range rounds {
		if err != nil {
			return last, err
		}
		var again cluster.KeySet
		if again, err = f.readOnce(id); err == nil && again == last {
			return last, nil
		}
		last = again
	}
	return last, errors.Join(errChanging, err)
}

func (f *Files) readOnce(id string) (all cluster.KeySet, err error) {
	for _, state := range states {
		key, err := f.dir.Key(state, id)
		if errors.Is(err, pki.ErrNotFound) {
			continue
		}
		if err != nil {
			return all, err
		}
		*all.Place(state) = key
	}
	return all, nil
}

// apply changes the files of an id. At no time do they have a state that is laxer than both, and
// what stays accepted is never missing: keys are moved, then written, then deleted.
func (f *Files) apply(id string, have, want cluster.KeySet) error {
	if err := f.move(id, &have, want); err != nil {
		return fmt.Errorf("write a change of the cluster: %w", err)
	}
	return f.write(id, want, func(s pki.State) bool { return have.Get(s) != want.Get(s) },
		func(s pki.State) bool { return have.Get(s) != "" })
}

// write writes those keys of want that have changed, and then deletes the files of the other states
// that are there.
func (f *Files) write(id string, want cluster.KeySet, changed, there func(pki.State) bool) (err error) {
	for _, state := range []pki.State{pki.Rejected, pki.Accepted, pki.Pending, pki.Denied} {
		if key := want.Get(state); err == nil && key != "" && changed(state) {
			err = f.dir.Import(state, id, key)
		}
	}
	for _, state := range []pki.State{pki.Accepted, pki.Pending, pki.Denied, pki.Rejected} {
		if err == nil && want.Get(state) == "" && there(state) {
			err = ignoreMissing(f.dir.Delete(state, id))
		}
	}
	if err != nil {
		return fmt.Errorf("write a change of the cluster: %w", err)
	}
	return nil
}

// move renames the keys that only change their state.
func (f *Files) move(id string, have *cluster.KeySet, want cluster.KeySet) error {
	for _, to := range states {
		key := want.Get(to)
		if key == "" || have.Get(to) == key {
			continue
		}
		for _, from := range states {
			if have.Get(from) != key || want.Get(from) != "" {
				continue
			}
			if err := f.dir.Move(id, from, to); err != nil {
				return err
			}
			*have.Place(from), *have.Place(to) = "", key
			break
		}
	}
	return nil
}

func ignoreMissing(err error) error { return ignore(err, pki.ErrNotFound) }

func ignore(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}
