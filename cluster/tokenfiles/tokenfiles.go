// Package tokenfiles keeps the token directories of the members of a cluster equal.
//
// Tokens of users and API keys are files of token_dir, one each, see package auth. The programs of a
// master write and delete them without knowing of the cluster. Files looks for what they have done
// and passes it on through a shelf of cluster.Values, and writes what other members did into the
// directory. A change on one member is in the files of the others within a second.
//
// # What NATS sees
//
// The name of a token's file is the token itself. The key on the shelf is a SHA-256 of it, which
// nobody can invert; name, time and content of the file are sealed with the cluster key. A value with
// a name that no token has is logged and never written.
//
// # Merging
//
// The state file has the base of each file: what file and shelf had when they were last equal. What
// differs from the base has changed. If both have changed the shelf is right.
//
// A file that was deleted on any member stays deleted on all of them, whatever else happened to it:
// names are random and never used again. Who puts such a file back, from a backup, sees it removed.
// Expired tokens are deleted by the masters and count as any other deletion.
//
// A file without a base says nothing by not being there. So a member without any gets those of the
// cluster, and a member with files of its own adds them.
//
// # What deletes no tokens
//
// A file counts as deleted only if it is missing in a directory that is there, can be read, and has
// the mark of this session, the hidden file .cluster. A directory that is missing or cannot be read
// makes no statement, and nothing is written into it. A directory without the mark, or with an old
// one, was made anew, is not mounted or comes from a backup: the member joins again as one without
// bases. Files that are empty, unreadable, longer than auth.MaxToken or not regular make no statement
// either.
//
// # Limits
//
// The last use of an API key is known to the member that it was used on. A token that is too large for
// a message of NATS stays on its member, which is logged. Without a quorum changes hold on this member
// and wait for the others.
//
// # Marks of deleted tokens
//
// The shelf and the state file keep a mark of each deleted token, of some 200 and 80 bytes. It says until
// when it is needed: a day after the token has expired, or was deleted if that came later. Then each
// member drops it. A member that was away for so long removes its file of the token: half a day after a
// token has expired it no longer comes to the cluster. Marks without that time stay for good: those that
// earlier versions made, and those of files that are no tokens.
package tokenfiles

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/logging"
)

// A Shelf is what Files needs of cluster.Values.
type Shelf interface {
	Get(ctx context.Context, key string) (body []byte, revision uint64, err error)
	Set(ctx context.Context, key string, body []byte, revision uint64) (uint64, error)
	Look(ctx context.Context, key string) (cluster.Value, error)
	Bury(ctx context.Context, key string, note []byte, revision uint64) (uint64, error)
	Drop(ctx context.Context, key string, revision uint64) error
	Follow(ctx context.Context, after uint64, synced func(), handle func(cluster.Value) error) error
	Identify(ctx context.Context, key string) (mark string, err error)
}

var _ Shelf = (*cluster.Values)(nil)

// Options configure Files.
type Options struct {
	State    string             // file that remembers what was last equal; required
	Interval time.Duration      // between two looks at the directory's time; 0 means 500 ms
	Log      logrus.FieldLogger // nil means no log
}

const (
	defaultInterval = 500 * time.Millisecond
	defaultFull     = 10 * time.Second
	maxScanning     = 4 // times as long as a scan takes is at least between two
)

// Files keeps a token directory and the shelf of the cluster equal.
type Files struct {
	shared Shelf
	o      Options
	full   time.Duration // between two looks at each file
	pause  time.Duration // between two looks for marks that nobody needs
	now    func() time.Time
	inbox  inbox

	settled  atomic.Bool
	lastFull time.Time
	swept    time.Time // when marks were dropped last
	silence  string    // why the directory makes no statement, as logged
	trouble  string    // why a change waits, as logged
	stuck    string    // why marks are not dropped, as logged
	begun    bool      // a session has begun
	read     bool      // the shelf is read
	known    bool      // the directory is listed

	mu        sync.Mutex // the fields below are shared by the workers of settle
	directory directory
	journal   *journal
	shelf     map[id]entry
	dirty     map[id]bool
	late      map[id]bool // dirty again at the next scan, since they have failed
	logged    map[id]bool // ids with a lasting fault that was logged
}

// An entry is what the shelf has.
type entry struct {
	place
	revision uint64
	record   *record // nil if the file has had it
	// until is when the token expires, or when the mark of a deleted one is not needed any more, in
	// seconds since 1970. 0 means never.
	until int64
}

// Open reads the state file. The directory may be missing. The error says that the state file
// cannot be read or written.
func Open(dir string, shared Shelf, o Options) (*Files, error) {
	if o.State == "" {
		return nil, errors.New("keep token files and cluster equal: no state file is given")
	}
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	j, err := openJournal(o.State)
	if err != nil {
		return nil, err
	}
	if j.skipped > 0 {
		o.Log.Warnf("state of the token files: %d lines of %s cannot be read", j.skipped, o.State)
	}
	f := &Files{shared: shared, o: o, full: defaultFull, pause: sweepPause, now: time.Now,
		inbox:   inbox{wake: make(chan struct{}, 1)},
		journal: j, directory: directory{path: dir, owns: j.owns}, shelf: map[id]entry{}, dirty: map[id]bool{},
		late: map[id]bool{}, logged: map[id]bool{}}
	if err := f.begin(); err != nil && !errors.Is(err, errAbsent) {
		return nil, err
	}
	return f, nil
}

// Run keeps directory and shelf equal until ctx ends, and then returns nil. The error says that the
// shelf can no longer be followed or that the state file cannot be written. Only one call may run
// at a time.
func (f *Files) Run(ctx context.Context) error {
	following, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.follow(following) }()
	err := f.work(ctx, ended)
	stop()
	if failed := <-ended; ctx.Err() == nil {
		err = errors.Join(err, failed)
	}
	return err
}

// Settled reports whether all that the cluster had when Run began is in the files. Before that a
// token may be good that another member has deleted.
func (f *Files) Settled() bool { return f.settled.Load() }

// work scans and settles until ctx ends or following has ended; then ended has its error again.
func (f *Files) work(ctx context.Context, ended chan error) error {
	tick := time.NewTimer(0)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			ended <- err
			return nil
		case <-tick.C:
			start := time.Now()
			f.scan()
			tick.Reset(max(f.o.Interval, maxScanning*time.Since(start)))
		case <-f.inbox.wake:
		}
		f.receive()
		if err := f.settle(ctx); err != nil {
			return err
		}
		if err := f.sweep(ctx); err != nil {
			return err
		}
	}
}

// scan looks for files that have changed.
func (f *Files) scan() {
	err := f.look()
	if err == nil {
		f.silence = ""
		return
	}
	f.known = false
	if text := err.Error(); text != f.silence {
		f.silence = text
		f.o.Log.WithError(err).Error("tokens are not kept equal with the cluster")
	}
}

func (f *Files) look() error {
	if !f.begun {
		if err := f.begin(); err != nil {
			return err
		}
	}
	full := !f.known || time.Since(f.lastFull) >= f.full
	changed, err := f.directory.look(full)
	if errors.Is(err, errForeign) {
		f.begun = false
		if err = f.begin(); err == nil {
			changed, err = f.directory.look(true)
		}
	}
	if err != nil {
		return err
	}
	if full {
		f.lastFull = time.Now()
	}
	if !f.known {
		f.known = true
		f.everything()
	}
	for _, i := range changed {
		f.dirty[i] = true
	}
	for i := range f.late {
		f.dirty[i] = true
	}
	clear(f.late)
	return nil
}

// begin starts a session, with the bases if the directory is that of the last one.
func (f *Files) begin() error {
	root, err := f.directory.open()
	if root != nil {
		defer root.Close()
	}
	if err != nil && !errors.Is(err, errForeign) {
		return err
	}
	if err != nil && f.journal.sessions != nil {
		f.o.Log.WithError(err).Warn("no tokens are taken for deleted, this master joins the cluster anew")
	}
	session := newSession()
	if err := f.journal.begin(session, err == nil); err != nil {
		return err
	}
	if err := f.directory.mark(root, session); err != nil {
		return err
	}
	f.begun, f.known = true, false
	return f.journal.marked(session)
}

// everything makes all ids dirty.
func (f *Files) everything() {
	for i := range f.directory.files {
		f.dirty[i] = true
	}
	for i := range f.journal.bases {
		f.dirty[i] = true
	}
	for i := range f.shelf {
		f.dirty[i] = true
	}
}

// receive takes what follow tells.
func (f *Files) receive() {
	for _, e := range f.inbox.take() {
		switch e.kind {
		case shelfAnew:
			f.read = false
			clear(f.shelf)
		case shelfRead:
			f.read = true
			f.everything()
		case valueChanged:
			raw, ok := parseSum(e.value.Key)
			i := id(raw)
			if !ok {
				f.o.Log.Errorf("entry %q of the shelf of tokens is ignored: it has no key of a token file", e.value.Key)
				continue
			}
			if e.value.Revision > f.shelf[i].revision {
				f.shelf[i] = f.entryOf(i, e.value)
				f.dirty[i] = true
			}
		}
	}
}

// entryOf returns the entry for a value of the shelf.
func (f *Files) entryOf(i id, v cluster.Value) entry {
	if v.Body == nil {
		return entry{place: place{side: deleted}, revision: v.Revision, until: readMark(v.Note)}
	}
	r, err := readRecord(i, v.Body)
	if err != nil {
		f.o.Log.WithError(err).Errorf("value %d of the shelf of tokens is ignored, of token file %s",
			v.Revision, i)
		return entry{place: place{side: mute}, revision: v.Revision}
	}
	return entry{place: place{has, sumOf(r.content)}, revision: v.Revision, record: &r, until: r.expiry()}
}

// lasting logs a fault of a file once.
func (f *Files) lasting(i id, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.logged[i] {
		f.logged[i] = true
		f.o.Log.WithError(err).Errorf("token file %s stays on this member", i)
	}
}
