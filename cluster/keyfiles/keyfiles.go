// Package keyfiles keeps the key directories of a master and the keys of its cluster equal.
//
// A master works with the files of its pki_dir and caches none of them, so that what an operator
// does with mv, rm or Salt's salt-key holds at the next request. In a cluster each member does so.
// Files looks for changes of the files and passes them on, and writes the changes of others into the
// files. A change on one member is in the files of the others within a second.
//
// # Merging
//
// The state file has the base of each id: what files and cluster had when they were last equal. If
// only the files differ from the base, the cluster gets what they have. If only the cluster differs,
// the files get it. If both differ, cluster.Stricter decides: rejected before deleted, deleted
// before pending, pending before accepted. This is a conflict; it is logged and counted.
//
// A pending key that nobody has decided on takes no part in this: if another member has accepted a
// key meanwhile, the outcome is what it would be if the minion signed in after that. Otherwise a
// sign-in could take the key of another from the accepted ones.
//
// An id without a base says nothing by having no files. So a master that joins with keys of its own
// adds them, and a master without any gets those of the cluster. What the cluster has deleted stays
// deleted, and what it has rejected stays rejected.
//
// # What deletes no keys
//
// A key is deleted in the cluster only if its file is missing in a directory that is there, can be
// read, and has the mark of this session, the hidden file .cluster. A directory that is missing or
// cannot be read makes no statement, and nothing is written into it: changes wait. A directory
// without the mark, or with an old one, was made anew, is not mounted or comes from a backup: all
// bases are dropped, and the member joins again as above.
//
// A deletion counts when a second scan confirms it. If more than 10 keys are gone, it counts when no
// further one has gone for a second. If all accepted keys are gone, and these are more than 10, it
// counts after a minute: until then the files can be brought back. Meanwhile minions that sign in
// anew are pending on this master alone. A call of Sync for the id does not wait.
//
// A file that is there and has no valid key makes no statement about its id, until the cluster
// changes the id; then it is replaced.
//
// # Without a quorum
//
// The files keep working: what an operator does holds on this member at once, and for the others
// when there is a quorum again. Status counts the ids that wait. A key that was rejected on another
// member is accepted here until then. The master must not accept new keys without a quorum: they
// may have been rejected elsewhere, and are taken back by the merge afterwards.
//
// # After a crash
//
// Lines at the end of the state file may be lost, or the file may be an older one. Then a base is
// older than the last equality, which shows in the generation of the record: files that have changed
// since the base meet a cluster that has changed, too, and the stricter state wins. What would be
// left is a file that looks unchanged since somebody has taken a change back while the master did
// not run. Therefore after an unclean end a rejected key does not yield to a change of another
// member, and no key yields to a change of this member. The cost is that a key that another member
// took from the rejected ones in that time is rejected again, which is logged.
package keyfiles

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/pki"
)

// Keys are the keys of the cluster, a *cluster.Keys.
type Keys interface {
	List(state pki.State) ([]string, error)
	Record(id string) (cluster.KeyRecord, error)
	Update(
		ctx context.Context, id string, decide func(cluster.KeyRecord) cluster.KeySet,
	) (cluster.KeyRecord, error)
	Changes(ctx context.Context) iter.Seq[cluster.KeyRecord]
}

var _ Keys = (*cluster.Keys)(nil)

var errUnfollowed = errors.New("the keys of the cluster are no longer followed")

// Options configure Files.
type Options struct {
	State    string        // file that remembers what was last equal; required
	Member   string        // id of this member, as in cluster.Options; "" is allowed, see the package
	Interval time.Duration // between two scans; 0 means 250 ms
	// Full is the time between two scans that look at each file, too, for those that were overwritten
	// in place; 0 means 10 s
	Full time.Duration
	// Changed is called after a change from another member was written into the files. It may be
	// called concurrently, for different ids, and must not call Sync; nil means nobody is told.
	Changed func(id string, from, to cluster.KeySet)
	Log     logrus.FieldLogger // nil means no log
}

const (
	defaultInterval = 250 * time.Millisecond
	defaultFull     = 10 * time.Second
	maxScanning     = 4 // times as long as a scan takes is at least between two
)

// Files keeps the key directories of a member and the keys of the cluster equal. It is safe for
// concurrent use.
type Files struct {
	dir     *pki.Dir
	keys    Keys
	o       Options
	journal *journal
	tree    *tree

	session sync.RWMutex // held for writing while a session begins
	begun   bool         // guarded by session
	busy    locks
	gone    gone
	queue   queue

	conflicts atomic.Uint64
	agreed    atomic.Bool // all ids have been reconciled since the session began, or wait
	restarted atomic.Bool // the scans have to begin anew

	// of the goroutine of Run
	rooms    [len(states)]room
	lastFull time.Time
	silence  string // why the directories make no statement, as logged
}

// Open reads the state file and looks at the directories. The error says that the state file cannot
// be read or written.
func Open(dir *pki.Dir, keys Keys, o Options) (*Files, error) {
	if o.State == "" {
		return nil, errors.New("keep key files and cluster equal: no state file is given")
	}
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	if o.Full <= 0 {
		o.Full = defaultFull
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	j, err := openJournal(o.State)
	if err != nil {
		return nil, err
	}
	f := &Files{dir: dir, keys: keys, o: o, journal: j, tree: newTree(dir, j),
		gone: gone{patience: time.Minute}, queue: newQueue()}
	if err := f.check(); err != nil && !errors.Is(err, errAbsent) {
		return nil, err
	}
	return f, nil
}

// Run keeps files and cluster equal until ctx ends, and then returns nil. The error says that the
// keys of the cluster are no longer followed, or that the state file could not be ended; after the
// latter the next start takes its content for that of a crash.
func (f *Files) Run(ctx context.Context) error {
	following, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for r := range f.keys.Changes(following) {
			f.queue.add(r.ID)
		}
	}()
	defer func() { stop(); <-ended }()
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return f.end()
		case <-ended:
			if ctx.Err() != nil {
				return f.end()
			}
			_, err := f.keys.List(pki.Accepted) // tells why
			return errors.Join(errUnfollowed, err, f.end())
		case <-tick.C:
			start := time.Now()
			f.scan()
			tick.Reset(max(f.o.Interval, maxScanning*time.Since(start)))
		case <-f.queue.wake:
		}
		f.work(ctx)
	}
}

func (f *Files) end() error {
	f.session.Lock()
	defer f.session.Unlock()
	if !f.begun {
		return nil // the file is as it was
	}
	return f.journal.end()
}

// Sync makes files and cluster equal for an id, without waiting for a scan or for the confirmation
// of a deletion. After an error Run tries again. Errors wrap cluster.ErrUnavailable if there is no
// quorum.
func (f *Files) Sync(ctx context.Context, id string) error {
	if err := pki.ValidID(id); err != nil {
		return err
	}
	err := f.reconcile(ctx, id, true)
	if err != nil {
		f.queue.postpone(id, err)
		return fmt.Errorf("make files and cluster equal for the key of %s: %w", id, err)
	}
	f.queue.done(id)
	return nil
}

// Status returns the number of conflicts since Open, and how many ids wait because NATS, the
// directories or the files do not let them be equal, or for the confirmation of a deletion.
func (f *Files) Status() (conflicts uint64, waiting int) {
	return f.conflicts.Load(), f.queue.waiting()
}

// Settled reports whether all that the cluster had when Run began, or when the directories were last
// made anew, is in the files. Before that a key that the master deletes may come back.
func (f *Files) Settled() bool { return f.agreed.Load() }

// check returns nil if the directories are those of the session, and begins one if necessary. Else
// the error wraps errAbsent or says what could not be written.
func (f *Files) check() error {
	f.session.RLock()
	begun := f.begun
	err := f.tree.inspect()
	f.session.RUnlock()
	if err == nil && begun || errors.Is(err, errAbsent) {
		return err
	}
	f.session.Lock()
	defer f.session.Unlock()
	return f.begin()
}

// begin starts a session, with the bases if the directories are those of the last one.
func (f *Files) begin() error {
	err := f.tree.inspect()
	if err == nil && f.begun || errors.Is(err, errAbsent) {
		return err
	}
	if err != nil && len(f.journal.all()) > 0 {
		f.o.Log.WithError(err).Warn("no keys are taken for deleted, this master joins the cluster anew")
	}
	f.begun = false
	f.agreed.Store(false)
	f.restarted.Store(true)
	f.gone.reset()
	if err := f.journal.begin(err == nil); err != nil {
		return err
	}
	if err := f.tree.mark(); err != nil {
		return err
	}
	f.begun = true
	return f.journal.marked()
}

// scan looks for files that have changed and queues their ids.
func (f *Files) scan() {
	err := f.check()
	if err == nil {
		err = f.list()
	}
	if err == nil {
		f.silence = ""
		return
	}
	if text := err.Error(); text != f.silence {
		f.silence = text
		f.o.Log.WithError(err).Error("minion keys are not kept equal with the cluster")
	}
}

// list queues the ids whose files have changed, and those that wait.
func (f *Files) list() error {
	fresh := f.restarted.Swap(false)
	// a file that was written after the last listing and deleted before this one is in neither
	doubtful := f.journal.takeNews()
	if fresh {
		f.rooms, f.lastFull = [len(states)]room{}, time.Time{}
		var err error
		if doubtful, err = f.known(); err != nil {
			f.again()
			return err
		}
	}
	var changed []string
	full := time.Since(f.lastFull) >= f.o.Full
	rooms := f.rooms
	for i := range rooms {
		rooms[i].path = f.tree.paths[i]
		now, ids, err := rooms[i].look(full)
		if err != nil {
			f.again()
			return fmt.Errorf("%w: %w", errAbsent, err)
		}
		rooms[i] = now
		changed = append(changed, ids...)
	}
	if err := f.tree.inspect(); err != nil { // else the files were those of other directories
		f.again()
		return err
	}
	f.rooms = rooms
	if full {
		f.lastFull = time.Now()
	}
	for _, id := range changed {
		f.queue.add(id)
	}
	for _, id := range doubtful {
		f.queue.addSlow(id)
	}
	f.missing(append(changed, doubtful...))
	f.queue.retry()
	return nil
}

// known returns the ids that have a base or keys in the cluster.
func (f *Files) known() ([]string, error) {
	ids := slices.Collect(maps.Keys(f.journal.all()))
	for _, state := range states {
		more, err := f.keys.List(state)
		if err != nil {
			return nil, err
		}
		ids = append(ids, more...)
	}
	return ids, nil
}

// again lets the next scan begin anew, since this one has failed.
func (f *Files) again() { f.restarted.Store(true) }

// missing notes which of the ids have lost their files.
func (f *Files) missing(ids []string) {
	var lost []string
	for _, id := range ids {
		b := f.journal.get(id)
		decided := f.listed(id, pki.Accepted) || f.listed(id, pki.Rejected)
		some := decided || f.listed(id, pki.Pending) || f.listed(id, pki.Denied)
		if b != nil && !decided && (b.keys[0] != (sum{}) || !some) {
			lost = append(lost, id)
		}
	}
	f.gone.note(lost, time.Now())
	if f.gone.few() {
		return
	}
	all := true
	for id, b := range f.journal.all() {
		if b.keys[0] != (sum{}) && !f.gone.has(id) {
			all = false
			break
		}
	}
	f.gone.everything(all, time.Now())
}

// listed reports whether an id has a file in a directory.
func (f *Files) listed(id string, state pki.State) bool {
	for i, s := range states {
		if s == state {
			_, ok := f.rooms[i].files[id]
			return ok
		}
	}
	return false
}
