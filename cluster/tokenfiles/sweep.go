package tokenfiles

import (
	"context"
	"errors"
	"time"

	"github.com/brineproject/brine/cluster"
)

const (
	// markTime is how long the mark of a deleted token is needed after the token has expired: the clocks
	// of members may differ.
	markTime = 24 * time.Hour
	// sweepPause is the time between two looks for marks that nobody needs any more.
	sweepPause = time.Minute
	// lateTime is how long a token has to be expired so that it no longer comes to the cluster. It is shorter
	// than markTime, since the clocks of members may differ: no member has dropped its mark before.
	lateTime = markTime / 2
)

// isLate reports whether a token expired so long ago that some members may have dropped its mark.
func (f *Files) isLate(r record) bool {
	at := r.expiry()
	return at > 0 && f.now().Sub(time.Unix(at, 0)) > lateTime
}

// needed returns until when the mark is needed of an entry that is being deleted, in seconds since 1970,
// or 0 if that is not known.
func (f *Files) needed(i id, e entry) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	earlier := f.journal.until[i] // the token was deleted before, and somebody has put it back
	if e.until == 0 {
		return earlier
	}
	return max(earlier, max(e.until, f.now().Unix())+int64(markTime/time.Second))
}

// sweep drops the marks of deleted tokens that nobody needs any more, a batch at a time. The error says
// that the state file cannot be written.
func (f *Files) sweep(ctx context.Context) error {
	now := f.now()
	if !f.read || !f.known || ctx.Err() != nil || now.Sub(f.swept).Abs() < f.pause {
		return nil
	}
	ids := f.stale(now.Unix())
	if len(ids) < batch { // else the rest follows soon
		f.swept = now
	}
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var trouble error
	f.each(ids, func(i id) {
		err := f.dropMark(ctx, i)
		if err == nil || errors.Is(err, cluster.ErrConflict) || errors.Is(err, cluster.ErrNewest) {
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if trouble == nil {
			trouble = err
			cancel() // the others would wait for the same
		}
	})
	f.tellStuck(trouble)
	if trouble != nil {
		f.swept = now
	}
	return f.journal.flush()
}

// stale returns ids of deleted tokens whose marks nobody needs any more at a time, a batch at most.
func (f *Files) stale(now int64) []id {
	var ids []id
	for i, until := range f.journal.until {
		if len(ids) == batch {
			break
		}
		e := f.shelf[i]
		gone := e.side == none || e.side == deleted && e.until > 0 && e.until < now
		if until < now && gone && f.directory.files[i].side == none {
			ids = append(ids, i)
		}
	}
	return ids
}

// dropMark drops the mark of a deleted token from the shelf and from the state file.
func (f *Files) dropMark(ctx context.Context, i id) error {
	f.mu.Lock()
	e := f.shelf[i]
	f.mu.Unlock()
	if e.side == deleted {
		if err := f.shared.Drop(ctx, i.key(), e.revision); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.shelf, i)
	f.journal.note(i, place{}, 0)
	return nil
}

// tellStuck logs why marks are not dropped, once for each reason. nil says that they are.
func (f *Files) tellStuck(trouble error) {
	reason := ""
	for err := trouble; err != nil; err = errors.Unwrap(err) {
		reason = err.Error()
	}
	if reason != "" && reason != f.stuck {
		f.o.Log.WithError(trouble).Warn("marks of expired tokens stay in the cluster")
	}
	f.stuck = reason
}
