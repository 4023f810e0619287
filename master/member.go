package master

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/cluster/keyfiles"
	"github.com/brineproject/brine/cluster/replica"
	spools "github.com/brineproject/brine/cluster/spool"
	"github.com/brineproject/brine/cluster/tokenfiles"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/reactor"
	runnercluster "github.com/brineproject/brine/runners/cluster"
	"github.com/brineproject/brine/transport"
)

const (
	// joinTime is how long a master that starts waits for the cluster.
	joinTime = 30 * time.Second
	// memberDir is the directory in the cachedir with what this master knows about the cluster.
	memberDir = "cluster"
	// memberSilence is how long a member may be silent until it counts as gone.
	memberSilence = 5 * time.Second
	// tokenLook is the time between two looks at the token directory.
	tokenLook = 250 * time.Millisecond
	// leadPause is the wait after a failed attempt to lead.
	leadPause = 3 * time.Second
)

// A member is this master's part in a cluster. It is nil for a master without one.
//
// Each member keeps keys, jobs, returns and the data of minions in its own files, as a master alone
// does. Streams of the cluster bring them what the other members take: orders (orderStream), returns
// (returnStream), keys (keyfiles), tokens of users (tokenfiles), data (replica), events and presence
// (bridge). The member that leads does what is to be done once (leadership).
type member struct {
	base
	c      *cluster.Cluster
	id     string
	dir    string // memberDir
	lead   *leadership
	bridge *bridge
	others *elsewhere

	orders  *orderStream
	returns *returnStream
	shared  *sharedSecrets
	keys    *cluster.Keys
	files   *keyfiles.Files
	tokens  *tokenfiles.Files
	banks   []daemon.Part // that keep caches equal
	hold    time.Duration // how long events are kept for the next leader

	replicas []*replica.Bank // the caches that are kept equal
	notes    *onceNotes
	turns    *reactionTurns
	sinks    map[string]*sinkTurns // of event_return, by returner
	spool    *spools.Spool
	roster   *roster
	lookout  lookout
}

// inCluster reports whether a master is to be in a cluster: the option cluster is set, and nobody has
// made the master leave (salt-run cluster.leave).
func inCluster(cfg *config.Master, log logrus.FieldLogger) (bool, error) {
	if cfg.Cluster == nil {
		return false, noCluster(cfg.CacheDir)
	}
	since, left, err := runnercluster.MarkIn(cfg.CacheDir).Since()
	if left {
		log.Warnf("This master has left its cluster, with salt-run cluster.leave at %s: it works alone, from its own "+
			"files. salt-run cluster.join and a restart bring it back", since.UTC().Format(time.RFC3339))
	}
	return !left, err
}

// joinCluster joins the cluster of the option cluster, if this master is to be in it.
func (m *Master) joinCluster(ctx context.Context, p *parts) error {
	if !m.clustered {
		return nil
	}
	o, err := cluster.Parse(p.cfg.Cluster)
	if err = config.Faults(err); err != nil { // doubts were told with the other warnings
		return &config.About{Option: "cluster", Err: err}
	}
	if o.Member == "" {
		o.Member = p.cfg.ID
	}
	o.Log = p.log
	c := &member{base: p.base, id: o.Member, dir: filepath.Join(p.cfg.CacheDir, memberDir),
		lead: newLeadership(), others: newElsewhere(p.now), bridge: p.bridge, sinks: map[string]*sinkTurns{}}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	if err := sameCluster(c.dir, o.Name); err != nil {
		return err
	}
	joining, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	p.log.Infof("Joining the cluster as %s", o.Member)
	if c.c, err = cluster.Open(joining, o); err != nil {
		return &config.About{Option: "cluster", Err: err}
	}
	m.closers = append(m.closers, c.end)
	if err := noteCluster(c.dir, o.Name); err != nil {
		return err
	}
	c.shared = &sharedSecrets{base: p.base, values: c.c.Values(cluster.Secrets), dir: p.cfg.PKIDir,
		identity: c.c.Publications().Identity}
	c.roster = newRoster(c)
	c.bridge.begin(c, c.c.Bus(), localTags(o.LocalEvents))
	c.hold = holdTime(c.c.Leases().Time())
	c.notes = &onceNotes{now: p.now, hold: c.hold}
	c.turns = newReactionTurns(c)
	c.bridge.reacted = c.turns.ended
	c.bridge.stored = c.heardStored
	p.member = c
	return nil
}

// end leaves the cluster for the time until the next start.
func (c *member) end() error {
	if err := c.c.Close(); err != nil {
		c.log.WithError(err).Warn("The other masters of the cluster are not told that this one stops; they notice it")
	}
	return nil
}

// localTags returns a function that reports whether an event stays on its member.
func localTags(patterns []string) func(tag string) bool {
	if len(patterns) == 0 {
		return nil
	}
	list := globs(patterns)
	return func(tag string) bool {
		return slices.ContainsFunc(list, func(g *match.Glob) bool { return g.Match(tag) })
	}
}

// shareKeys makes the private keys of this master those of the cluster.
func (c *member) shareKeys(ctx context.Context, dir *pki.Dir, cfg *config.Master) error {
	if c == nil {
		return nil
	}
	names := map[string]func() error{masterKey: func() error {
		_, err := ownKey(dir, masterKey, cfg.KeySize, "key_pass", cfg.KeyPass)
		return err
	}}
	if cfg.MasterSignPubkey && !cfg.MasterUsePubkeySignature {
		names[cfg.MasterSignKeyName] = func() error {
			_, err := ownKey(dir, cfg.MasterSignKeyName, cfg.KeySize, "signing_key_pass", cfg.SigningKeyPass)
			return err
		}
	}
	for name, create := range names {
		if err := c.shared.shareKey(ctx, name, create); err != nil {
			return err
		}
	}
	return nil
}

// shareSession makes the session key of this master that of the cluster.
func (c *member) shareSession(ctx context.Context, secrets *channel.Secrets) error {
	if c == nil {
		return nil
	}
	members, err := c.c.Members(ctx)
	if err != nil {
		return err
	}
	return c.shared.begin(ctx, secrets, isAlone(members, c.id))
}

// isAlone reports whether no other member has given a sign of life at the time of the latest one of
// this member; of one that is not known it is assumed. The clock of this host, which is not that of NATS, does not matter.
func isAlone(members []cluster.Member, id string) bool {
	of := func(m cluster.Member) bool { return m.ID == id }
	own := slices.IndexFunc(members, of)
	return !slices.ContainsFunc(members, func(m cluster.Member) bool {
		return !of(m) && (own < 0 || members[own].Seen.Sub(m.Seen).Abs() < memberSilence)
	})
}

// openKeys makes the key directories those of the cluster.
func (c *member) openKeys(ctx context.Context, m *Master, dir *pki.Dir) error {
	opening, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	var err error
	if c.keys, err = c.c.OpenKeys(opening, cluster.KeyOptions{}); err != nil {
		return err
	}
	m.closers = append(m.closers, func() error { c.keys.Close(); return nil })
	c.files, err = keyfiles.Open(dir, c.keys, keyfiles.Options{State: filepath.Join(c.dir, "keys"),
		Member: c.id, Changed: c.keyChanged, Log: c.log})
	return err
}

// openTokens makes the token directory that of the cluster.
func (c *member) openTokens(dir string) error {
	if c == nil {
		return nil
	}
	var err error
	c.tokens, err = tokenfiles.Open(dir, c.c.Values(cluster.Tokens),
		tokenfiles.Options{State: filepath.Join(c.dir, "tokens"), Interval: tokenLook, Log: c.log})
	return err
}

// keyChanged drops the session key of a minion whose key another member has deleted or replaced.
func (c *member) keyChanged(id string, from, to cluster.KeySet) {
	if from.Accepted == "" || from.Accepted == to.Accepted {
		return
	}
	if err := c.shared.secrets.Forget(id); err != nil {
		c.log.WithError(err).Errorf("drop session key of minion %s", id)
	}
}

// share returns a cache that is one for all members, or the local one for a master without a cluster.
func (c *member) share(
	m *Master, local cache.Bank, shelf cluster.Shelf, o replica.Options,
) (cache.Bank, error) {
	if c == nil {
		return local, nil
	}
	o.Log, o.Dir = c.log, filepath.Join(c.dir, string(shelf))
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	b, err := replica.Open(local, c.c.Values(shelf), o)
	if err != nil {
		return nil, err
	}
	m.closers = append(m.closers, b.Close)
	c.replicas = append(c.replicas, b)
	c.banks = append(c.banks, daemon.Part{Name: "cluster " + string(shelf), Run: daemon.Always(b.Run)})
	return b, nil
}

// openStreams makes the parts that bring orders and returns to all members.
func (c *member) openStreams(ctx context.Context, m *Master, pub *publishing, ret *returning) error {
	orders, err := c.position(ctx, "orders", c.c.Publications())
	if err != nil {
		return err
	}
	returns, err := c.position(ctx, "returns", c.c.Returns())
	if err != nil {
		return err
	}
	if c.spool, err = spools.Open(filepath.Join(c.dir, "spool"), 0); err != nil {
		return err
	}
	m.closers = append(m.closers, c.spool.Close)
	c.orders = newOrderStream(c, orders, pub)
	if err := c.orders.begin(ctx); err != nil {
		return err
	}
	c.returns = &returnStream{base: c.base, member: c.id, log: c.c.Returns(), quorum: c.c.Quorum, ret: ret,
		orders: c.orders, done: returns, spool: c.spool, pending: ownPending{quota: ret.quota}}
	if err := c.returns.begin(ctx); err != nil {
		return err
	}
	pub.cluster, ret.cluster = memberOrders{c.orders, c.notes}, newMemberReturns(c.returns, c.orders)
	c.bridge.fired = pub.progress.fired
	c.bridge.signIn = pub.offline.noteBrineElsewhere
	pub.offline.signedIn = c.bridge.tellSignIn
	pub.offline.keysSettled = c.files.Settled
	return nil
}

// position opens the position of this member in a stream.
func (c *member) position(
	ctx context.Context, name string, stream interface {
		beginning
		Identity(context.Context) (string, error)
	},
) (*position, error) {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	identity, err := stream.Identity(ctx)
	if err != nil {
		return nil, err
	}
	first, err := stream.First(ctx)
	if err != nil {
		return nil, err
	}
	return openPosition(filepath.Join(c.dir, name), streamView{identity, first, c.c.KeyIDs()}, c.log)
}

// memberOrders implements orderLog.
type memberOrders struct {
	*orderStream
	*onceNotes
}

// memberReturns implements returnLog.
type memberReturns struct {
	*returnStream
	orders *orderStream
	room   *semaphore.Weighted // bytes of those that wait in catchUp
}

// Returns of unknown jobs that wait at one time for the orders of the cluster are at most mostCatchUps, and
// have catchUpBytes at most, or are a single one.
const (
	mostCatchUps = 256
	catchUpBytes = 64 << 20
)

func newMemberReturns(returns *returnStream, orders *orderStream) memberReturns {
	return memberReturns{returns, orders, semaphore.NewWeighted(catchUpBytes)}
}

var errManyWait = errors.New("too many returns wait for orders of the cluster")

func (r memberReturns) catchUp(ctx context.Context, size int) (err error) {
	if err := r.orders.quorum(); err != nil {
		return err
	}
	weight := int64(min(max(size, catchUpBytes/mostCatchUps), catchUpBytes))
	if !r.room.TryAcquire(weight) {
		return errManyWait
	}
	defer r.room.Release(weight)
	transport.Aside(ctx, func() { err = r.orders.catchUp(ctx) })
	return err
}

// parts returns what a member does besides what every master does.
func (c *member) parts(index minionIndex) []daemon.Part {
	if c == nil {
		return nil
	}
	c.bridge.index = index
	parts := []daemon.Part{
		{Name: "cluster session key", Run: daemon.Always(c.shared.follow)},
		{Name: "cluster keys", Run: c.keepFiles(c.files)},
		{Name: "cluster tokens", Run: c.keepFiles(c.tokens)},
		{Name: "cluster orders", Run: daemon.Always(c.noting(c.orders.done, c.orders.run))},
		{Name: "cluster returns", Run: daemon.Always(c.noting(c.returns.done, c.returns.run))},
		{Name: "cluster spool", Run: daemon.Always(c.returns.handOn)},
		{Name: "cluster bus, sending", Run: daemon.Always(c.bridge.sendAll)},
		{Name: "cluster bus, receiving", Run: daemon.Always(c.bridge.receive)},
		{Name: "cluster presence", Run: daemon.Always(c.bridge.tell)},
		{Name: "cluster leadership", Run: daemon.Always(c.leadAlways)},
		{Name: "cluster roster", Run: daemon.Always(c.roster.follow)},
		{Name: "cluster roster, own entry", Run: daemon.Always(c.roster.tell)},
		{Name: "cluster lookout", Run: daemon.Always(c.lookAlways)},
	}
	return append(parts, c.banks...)
}

// noting runs what carries out a stream, and saves its position all the while.
func (c *member) noting(
	done *position, run func(context.Context) error,
) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		var saving sync.WaitGroup
		saving.Go(func() {
			done.saveAlways(ctx, func(err error) {
				c.log.WithError(err).Error("the position in the cluster is not saved")
			})
		})
		err := run(ctx)
		cancel()
		saving.Wait()
		return err
	}
}

// sharedFiles are files that are kept equal with the cluster.
type sharedFiles interface {
	Run(ctx context.Context) error
	Settled() bool
}

// settleTime is how long a start waits until files are those of the cluster.
const settleTime = 10 * time.Second

// keepFiles keeps files and the cluster equal. The part is ready once they are.
func (c *member) keepFiles(f sharedFiles) func(ctx context.Context, ready func()) error {
	return func(ctx context.Context, ready func()) error {
		ctx, cancel := context.WithCancel(ctx)
		var settling sync.WaitGroup
		settling.Go(func() {
			defer ready()
			end := c.now().Add(settleTime)
			for !f.Settled() && c.now().Before(end) && clock.Sleep(ctx, settleLook) == nil {
			}
		})
		err := f.Run(ctx)
		cancel()
		settling.Wait()
		return lostData(err)
	}
}

// settleLook is how often keepFiles looks whether the files are those of the cluster.
const settleLook = 20 * time.Millisecond

// leadAlways leads the cluster whenever nobody else does, until ctx ends.
func (c *member) leadAlways(ctx context.Context) error {
	for {
		if err := c.leadOnce(ctx, c.c.Leases().Run, c.beginLead); err != nil {
			return err
		}
		if err := clock.Sleep(ctx, leadPause); err != nil {
			return err
		}
	}
}

// leadOnce waits until nobody else leads, begins to lead, and leads as long as it may. The error says that
// ctx has ended, or that NATS has lost the data of the cluster.
func (c *member) leadOnce(
	ctx context.Context,
	lease func(context.Context, string, func(context.Context, cluster.Token) error) error,
	begin func(context.Context, cluster.Token) error,
) error {
	led := false
	err := lease(ctx, leaseName, func(ctx context.Context, token cluster.Token) error {
		if err := begin(ctx, token); err != nil {
			return err
		}
		led = true
		c.log.Infof("This master leads the cluster from now on")
		c.lead.lead(ctx, token, c.turns.begin)
		c.turns.end()
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case cluster.IsLost(err):
		return lostData(fmt.Errorf("%w: %w", cluster.ErrRestarted, err))
	case led:
		c.log.WithError(err).Warn("This master no longer leads the cluster")
	default:
		c.log.WithError(err).Warn("This master cannot begin to lead the cluster")
	}
	return nil
}

// beginLead makes this member ready to lead: it has carried out all that was ordered and returned before, and
// knows what earlier leaders noted.
func (c *member) beginLead(ctx context.Context, token cluster.Token) error {
	fence, err := c.prepareLead(ctx, token)
	if err != nil {
		return err
	}
	return c.notes.load(fence)
}

// prepareLead makes what an earlier leader still writes void, and waits until this member knows all that
// was done before. The error says that this takes too long: another member may be able to lead.
func (c *member) prepareLead(ctx context.Context, token cluster.Token) (*cluster.Fence, error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	fence, err := c.c.Leases().Fence(ctx, token)
	if err != nil {
		return nil, err
	}
	if err := c.orders.lead(ctx, token.Number); err != nil {
		return nil, err
	}
	if err := c.orders.catchUp(ctx); err != nil {
		return nil, fmt.Errorf("catch up with the orders of the cluster: %w", err)
	}
	if err := c.returns.catchUp(ctx); err != nil {
		return nil, fmt.Errorf("catch up with the returns of the cluster: %w", err)
	}
	for _, b := range c.replicas {
		for !b.Current() {
			if err := clock.Sleep(ctx, settleLook); err != nil {
				return nil, fmt.Errorf("catch up with the data of the cluster: %w", err)
			}
		}
	}
	return fence, nil
}

// prepareTime is how long a member that begins to lead may take to catch up.
const prepareTime = 30 * time.Second

// quorum returns nil if orders can be taken, else the reason why not.
func (c *member) quorum() error {
	if c == nil {
		return nil
	}
	return c.c.Quorum()
}

// asMember returns the member for runners, nil for a master without a cluster.
func (c *member) asMember() runnercluster.Member {
	if c == nil {
		return nil
	}
	return c
}

// leading returns the leadership, nil for a master without a cluster.
func (c *member) leading() *leadership {
	if c == nil {
		return nil
	}
	return c.lead
}

// reactions returns who reacts to events, nil for a master without a cluster.
func (c *member) reactions() reactor.Turns {
	if c == nil {
		return nil
	}
	return c.turns
}

// sinkTurns returns who passes events to a returner of event_return, nil for a master without a
// cluster. It is called before the parts run.
func (c *member) sinkTurns(name string) *sinkTurns {
	if c == nil {
		return nil
	}
	c.sinks[name] = &sinkTurns{name: name, lead: c.lead, now: c.now, life: c.hold, tell: c.bridge.tellStored,
		done: map[uint64]time.Time{}}
	return c.sinks[name]
}

// heardStored notes which events another member has stored.
func (c *member) heardStored(name string, ids []uint64) {
	if s := c.sinks[name]; s != nil {
		s.heard(ids)
	}
}

// elsewhere returns who is connected to other members, nil for a master without a cluster.
func (c *member) elsewhere() *elsewhere {
	if c == nil {
		return nil
	}
	return c.others
}

// sharing returns what eventbus.Options.Share is to be, nil for a master without a cluster.
func sharing(b *bridge) func(eventbus.Event) {
	if b == nil {
		return nil
	}
	return b.share
}
