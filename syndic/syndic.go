// Package syndic connects a master to masters above it, as salt-syndic does.
//
// The lower master runs on the same host. A syndic signs in to each upper master as a minion whose
// publications it orders again on the lower master, whatever their target is. It reads the event
// bus of the lower master and sends returns (_syndic_return) and other events (_minion_event)
// upward.
//
// [New] opens keys and the journal. [Syndic.Run] works until its context ends. An upper is the link
// to one upper master: it signs in, receives publications and sends what its queue holds. orders.go
// orders publications below, bus.go reads the lower bus, and journal.go records what was ordered and which
// returns an upper master has acknowledged. Returns that were lost in between, because the syndic was not
// running or its queue was full, are read from the job cache of the lower master.
//
// The messages are those of Salt's salt/minion.py, classes Syndic and SyndicManager.
package syndic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/transport"
)

// Ports create the network connections to the upper masters. Packages transport/zeromq and
// transport/tcp implement them.
type Ports struct {
	Request   func(d transport.Dialer) transport.Requester
	Subscribe func(d transport.Dialer, topics ...string) transport.Subscriber
}

// An Orderer publishes jobs on the lower master. *client.Local implements it. It is used by one
// goroutine at a time.
type Orderer interface {
	Publish(ctx context.Context, r client.Request) (*client.Job, error)
	Close() error
}

// A JobReader reads the job cache of the lower master. Each returners.JobReader implements it; if it
// is a returners.ReturnWalker too, returns are read one after the other. Several goroutines may use it.
type JobReader interface {
	Job(ctx context.Context, id job.ID) (*returners.Job, error)
	Returns(ctx context.Context, id job.ID) ([]returners.Return, error)
}

// Keys list the ids with a key in a state on the lower master. *pki.Dir implements it.
type Keys interface {
	List(s pki.State) ([]string, error)
}

// Options are the dependencies of a syndic besides its configuration.
type Options struct {
	Ports Ports
	// Order opens a client of the lower master. The error wraps client.ErrNoMaster if no master runs.
	Order func(ctx context.Context) (Orderer, error)
	// Jobs returns the job cache of the lower master, or nil if there is none at the moment. It is called
	// each time the cache is needed. A nil Jobs means that there is none.
	Jobs func() JobReader
	Keys Keys // of the minions that the lower master has accepted
	Log  logrus.FieldLogger
	Now  func() time.Time // nil means time.Now
}

// A Syndic connects the lower master on this host to its upper masters. Create it with New.
type Syndic struct {
	settings
	master    *config.Master
	minion    *config.Minion
	opts      Options
	log       logrus.FieldLogger
	quiet     *loglimit.Limiter
	group     *daemon.Group
	keys      *pki.Keys
	key       *crypto.PrivateKey
	unlock    func() error // unlocks the journal
	journal   *journal
	uppers    []*upper
	router    *router
	replay    *replay
	orders    *orders
	stock     *stock
	inventory atomic.Pointer[inventory] // nil before the first look
	look      chan struct{}             // signaled to look at the inventory soon
	below     atomic.Bool               // the bus of the lower master is connected
}

// stopLimit is how long a syndic may take to end. Work that is not done by then is abandoned.
const stopLimit = 5 * time.Second

// New opens keys and the journal of a syndic, but does not contact a master yet. master is the
// configuration of the lower master, minion that of the minion on the same host, whose id and key the
// syndic uses. Errors about options are *config.About. The error wraps daemon.ErrLocked if another
// syndic runs with the same cachedir. The caller must call Run, which releases what New has opened.
func New(ctx context.Context, master *config.Master, minion *config.Minion, o Options) (*Syndic, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	given, err := readSettings(master, minion)
	if err != nil {
		return nil, err
	}
	s := &Syndic{settings: given, master: master, minion: minion, opts: o, log: o.Log,
		quiet: &loglimit.Limiter{}, look: make(chan struct{}, 1), stock: &stock{keys: o.Keys,
			accepted: filepath.Join(master.PKIDir, "minions"),
			dir:      filepath.Join(master.CacheDir, "syndics")}}
	s.group = daemon.NewGroup(daemon.GroupOptions{Name: "the syndic", Stop: stopLimit, Log: o.Log})
	s.replay, s.orders = newReplay(s), newOrders(s)
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// open opens the keys, the journal and the links to the upper masters.
func (s *Syndic) open() (err error) {
	cfg := s.minion
	if s.keys, err = pki.OpenKeys(cfg.PKIDir, pki.Options{Permissive: cfg.PermissivePKIAccess}); err != nil {
		return err
	}
	if s.key, err = s.keys.LoadOrCreate("minion", cfg.KeySize, ""); err != nil {
		return err
	}
	dir := filepath.Join(s.master.CacheDir, "syndic")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory %s: %w", dir, err)
	}
	if s.unlock, err = daemon.LockFile(filepath.Join(dir, ".lock")); err != nil {
		return err
	}
	if s.journal, err = openJournal(dir, s.opts.Now, s.log); err != nil {
		return err
	}
	for _, a := range s.masters {
		u, err := newUpper(s, a)
		if err != nil {
			return err
		}
		s.uppers = append(s.uppers, u)
	}
	s.router = newRouter(s.uppers, s.ordered, s.journal)
	return nil
}

// close releases what New has opened.
func (s *Syndic) close() error {
	var errs []error
	for _, u := range s.uppers {
		errs = append(errs, u.close())
	}
	if s.unlock != nil {
		errs = append(errs, s.unlock())
	}
	return errors.Join(errs...)
}

// jobs returns the job cache of the lower master, or nil.
func (s *Syndic) jobs() JobReader {
	if s.opts.Jobs == nil {
		return nil
	}
	return s.opts.Jobs()
}

// Run works until ctx ends, and then returns nil. It calls ready when all parts have started, which
// does not wait for an upper master. A part that fails is restarted. The error wraps
// channel.ErrFingerprint if the key of an upper master is not that of syndic_finger. Returns that are in
// memory when ctx ends are read from the job cache by the next run.
func (s *Syndic) Run(ctx context.Context, ready func()) error {
	s.lookAtStock() // an upper master takes no returns before it has the inventory
	return errors.Join(s.group.Run(ctx, ready, s.parts()...), s.close())
}

// parts returns the parts of the syndic in start order.
func (s *Syndic) parts() []daemon.Part {
	parts := []daemon.Part{
		{Name: "returns from the job cache", Run: daemon.Always(s.replay.run)},
		{Name: "trimmed returns", Run: daemon.Always(s.replay.runTrimmed)},
		{Name: "lower bus", Run: daemon.Always(s.listen)},
		{Name: "orders", Run: daemon.Always(s.orders.run)},
		{Name: "inventory", Run: daemon.Always(s.watchStock)},
	}
	for _, u := range s.uppers {
		parts = append(parts, daemon.Part{Name: "master " + u.address.text, Run: daemon.Always(u.run)})
	}
	return parts
}

// Status returns one line for the service manager: which upper masters are connected, how many returns
// wait for them, and which parts have failed.
func (s *Syndic) Status() string {
	var texts []string
	waiting := 0
	for _, u := range s.uppers {
		state := "not connected to "
		if u.isConnected() {
			state = "connected to "
		}
		texts = append(texts, state+u.address.text)
		waiting += u.queue.waiting()
	}
	if !s.below.Load() {
		texts = append(texts, "the lower master is away")
	}
	if waiting > 0 {
		texts = append(texts, fmt.Sprintf("%d returns wait", waiting))
	}
	if trouble := s.group.Trouble(); trouble != "" {
		texts = append(texts, trouble)
	}
	return strings.Join(texts, ", ")
}
