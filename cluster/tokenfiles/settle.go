package tokenfiles

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/internal/atomicfile"
)

const (
	workers = 16
	batch   = 512             // ids of one round
	timeout = 5 * time.Second // of one round
	rounds  = 4               // attempts for an id whose entry others change
)

func sumOf(content []byte) sum { return sha256.Sum256(content) }

// settle makes file and shelf equal for all dirty ids, as far as NATS and the directory let it. The
// error says that the state file cannot be written.
func (f *Files) settle(ctx context.Context) error {
	for f.read && f.known && ctx.Err() == nil {
		ids := f.next()
		if len(ids) == 0 {
			if len(f.late) == 0 {
				f.settled.Store(true)
			}
			return nil
		}
		root, err := f.directory.open()
		if err == nil {
			err = f.round(ctx, root, ids)
		} else {
			f.postpone(ids) // the next scan says why
		}
		if root != nil {
			_ = root.Close()
		}
		if err != nil && !errors.Is(err, errWaiting) && !errors.Is(err, errAbsent) && !errors.Is(err, errForeign) {
			return err
		}
		if err != nil {
			return nil
		}
		f.receive()
	}
	return nil
}

// errWaiting says that NATS does not answer, so that further ids would wait in vain.
var errWaiting = errors.New("the cluster does not answer")

func (f *Files) postpone(ids []id) {
	for _, i := range ids {
		f.late[i] = true
	}
}

// next takes a batch of those dirty ids for which something is to be done.
func (f *Files) next() []id {
	ids := make([]id, 0, min(batch, len(f.dirty)))
	for i := range f.dirty {
		if len(ids) == batch {
			break
		}
		delete(f.dirty, i)
		if f.plan(i) != (plan{}) {
			ids = append(ids, i)
		} else {
			f.forget(i)
		}
	}
	return ids
}

func (f *Files) plan(i id) plan {
	return merge(f.journal.bases[i], f.directory.files[i].place, f.shelf[i].place)
}

// forget drops the content of an entry that file and base have.
func (f *Files) forget(i id) {
	if e, ok := f.shelf[i]; ok && e.record != nil && f.journal.bases[i] == e.place {
		e.record = nil
		f.shelf[i] = e
	}
}

// round makes file and shelf equal for some ids. Those that fail are late. The error wraps errWaiting,
// or says that the state file cannot be written.
func (f *Files) round(ctx context.Context, root *os.Root, ids []id) error {
	// what this member has is noted before others see it, so that it is known if it is deleted
	for _, i := range ids {
		if own := f.directory.files[i].place; f.journal.bases[i].side == none && f.plan(i).put {
			f.journal.note(i, own, 0)
		}
	}
	if err := f.journal.flush(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var waits atomic.Bool
	var trouble error
	f.each(ids, func(i id) {
		err := f.reconcile(ctx, root, i)
		if err == nil {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.late[i] = true
		if errors.Is(err, errGone) {
			return
		}
		if errors.Is(err, cluster.ErrUnavailable) {
			waits.Store(true)
			cancel() // the others would wait for the same
		}
		if trouble == nil {
			trouble = fmt.Errorf("make token file %s and the cluster equal: %w", i, err)
		}
	})
	f.logTrouble(trouble)
	// before the names are on disk they must not be noted, or a power failure would delete tokens
	if err := atomicfile.SyncDir(root, "."); err != nil {
		return fmt.Errorf("flush the token directory: %w", err)
	}
	if err := f.journal.flush(); err != nil {
		return err
	}
	if waits.Load() {
		return errWaiting
	}
	return nil
}

// logTrouble logs why changes wait, once for each reason. nil says that none does.
func (f *Files) logTrouble(trouble error) {
	reason := ""
	for err := trouble; err != nil; err = errors.Unwrap(err) {
		reason = err.Error()
	}
	if reason != "" && reason != f.trouble {
		f.o.Log.WithError(trouble).Warn("changes of tokens wait")
	}
	f.trouble = reason
}

// each calls do for all ids, several at once.
func (f *Files) each(ids []id, do func(id)) {
	waiting := make(chan id, len(ids))
	for _, i := range ids {
		waiting <- i
	}
	close(waiting)
	var working sync.WaitGroup
	for range min(workers, len(ids)) {
		working.Go(func() {
			for i := range waiting {
				do(i)
			}
		})
	}
	working.Wait()
}

// reconcile makes file and shelf equal for an id.
func (f *Files) reconcile(ctx context.Context, root *os.Root, i id) error {
	for range rounds {
		f.mu.Lock()
		e, p := f.shelf[i], f.plan(i)
		f.mu.Unlock()
		if p.write && e.record == nil {
			if err := f.refresh(ctx, i); err != nil {
				return err
			}
			continue
		}
		err := f.carryOut(ctx, root, i, e, p)
		if !errors.Is(err, cluster.ErrConflict) {
			return err
		}
		if err := f.refresh(ctx, i); err != nil {
			return err
		}
	}
	return cluster.ErrConflict
}

// carryOut does what a plan says. A file is removed and its deletion noted before the cluster is asked.
func (f *Files) carryOut(ctx context.Context, root *os.Root, i id, e entry, p plan) error {
	var err error
	switch {
	case p.remove:
		err = f.remove(root, i)
	case p.write:
		err = f.write(root, i, e)
	}
	if err != nil {
		return err
	}
	deletes := p.note != nil && p.note.side == deleted
	until := e.until // of the mark
	if p.drop {
		until = f.needed(i, e)
	}
	if deletes {
		f.note(i, p, until)
	}
	switch {
	case p.drop:
		err = f.bury(ctx, i, until, e.revision)
	case p.put:
		err = f.put(ctx, root, i, e.revision)
	}
	if err == nil && !deletes {
		f.note(i, p, until)
	}
	return err
}

func (f *Files) note(i id, p plan, until int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p.note != nil && !p.put {
		f.journal.note(i, *p.note, until)
	}
	f.forget(i)
}

// put brings the file to the shelf.
func (f *Files) put(ctx context.Context, root *os.Root, i id, revision uint64) error {
	f.mu.Lock()
	name := f.directory.files[i].name
	f.mu.Unlock()
	content, modified, err := readFile(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the next scan finds it
	}
	if err != nil {
		return err
	}
	r := record{name, modified, content}
	if revision == 0 && f.isLate(r) {
		return f.discard(root, i)
	}
	err = f.set(ctx, i, r, revision)
	if errors.Is(err, cluster.ErrTooLarge) {
		f.lasting(i, err)
		return nil
	}
	return err
}

// discard removes the file of a token that expired long ago, and leaves no mark. The shelf has nothing of
// it: other members may have dropped its mark.
func (f *Files) discard(root *os.Root, i id) error {
	f.mu.Lock()
	f.journal.note(i, place{}, 0) // or its absence would count as a deletion
	f.mu.Unlock()
	return f.remove(root, i)
}

// set writes an entry of the shelf.
func (f *Files) set(ctx context.Context, i id, r record, revision uint64) error {
	e := entry{place: place{has, sumOf(r.content)}, until: r.expiry()}
	var err error
	if e.revision, err = f.shared.Set(ctx, i.key(), r.encode(), revision); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shelf[i] = e
	f.journal.note(i, e.place, 0)
	return nil
}

// bury deletes an entry of the shelf. Its mark is needed until a time.
func (f *Files) bury(ctx context.Context, i id, until int64, revision uint64) error {
	e := entry{place: place{side: deleted}, until: until}
	var err error
	if e.revision, err = f.shared.Bury(ctx, i.key(), writeMark(until), revision); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shelf[i] = e
	return nil
}

// refresh asks the cluster for an entry.
func (f *Files) refresh(ctx context.Context, i id) error {
	v, err := f.shared.Look(ctx, i.key())
	var e entry
	switch {
	case errors.Is(err, cluster.ErrSealed), errors.Is(err, cluster.ErrUnknownKey):
		e = entry{place: place{side: mute}, revision: v.Revision}
	case err != nil:
		return err
	case v.Revision != 0:
		e = f.entryOf(i, v)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.side == mute { // the token that was there
		e.until = f.shelf[i].until
	}
	f.shelf[i] = e
	return nil
}

// errGone says that a file was deleted since the last scan. The next one finds the deletion.
var errGone = errors.New("the file is gone")

// write writes what the shelf has into the directory. A file that is deleted between the look for it and the
// renaming comes back, and is no longer taken as deleted: the token is good again until it is deleted again.
func (f *Files) write(root *os.Root, i id, e entry) error {
	f.mu.Lock()
	old := f.directory.files[i]
	f.mu.Unlock()
	if old.side == has {
		if _, err := root.Lstat(old.name); errors.Is(err, fs.ErrNotExist) {
			return errGone
		}
	}
	r := e.record
	if err := auth.WriteToken(root, r.name, r.content, r.modified); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.directory.files[i] = file{place: e.place, name: r.name} // the next scan sees its stamp
	return nil
}

// remove removes the file that the cluster, or this member, has deleted.
func (f *Files) remove(root *os.Root, i id) error {
	f.mu.Lock()
	name := f.directory.files[i].name
	f.mu.Unlock()
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.directory.files, i)
	return nil
}
