package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/cluster/replica"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/minionfs"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	presences "github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/reactor"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/runners"
	"github.com/brineproject/brine/runners/gitpillar"
	stdrunners "github.com/brineproject/brine/runners/standard"
	wheels "github.com/brineproject/brine/wheel"
)

// parts are the components that New creates for a Master. Only the functions in this file see them
// all: they hand each component what it needs.
type parts struct {
	cfg *config.Master // as at the start
	o   Options
	base
	keyring
	storage
	functions
	own      *ownCode // nil if there is none
	watchers *watchers
	gate     *gatekeeper
	presence *presence
	sender   *channel.Publisher
	// handles returns; set by newRequests
	returning *returning
	files     *fileServer
	compiler  *pillarCompiler
	tops      *masterTops
	control   *control
	syndics   *syndics // nil if no syndic may connect
	bridge    *bridge  // to other members of a cluster; nil for a master without one
	member    *member  // the same
}

// base is what most components of a master share.
type base struct {
	settings *settings
	bus      *eventbus.Bus
	ids      *job.IDs
	quiet    *loglimit.Limiter // limits warnings that others can cause
	now      func() time.Time
	log      logrus.FieldLogger
}

// newBase makes the base of a master. share gets the events for other masters; nil if there are none.
func newBase(cfg *config.Master, o Options, share func(eventbus.Event)) base {
	b := base{
		settings: newSettings(cfg),
		bus: eventbus.New(eventbus.Options{MaxEventSize: cfg.MaxEventSize, Now: o.Now, Log: o.Log,
			Private: reactor.Private, Share: share}),
		ids:   job.NewIDs(o.Now),
		quiet: &loglimit.Limiter{Now: o.Now},
		now:   o.Now,
		log:   o.Log,
	}
	if cfg.UniqueJID {
		b.ids = job.NewUniqueIDs(o.Now)
	}
	return b
}

// fire fires an event on the bus for plug-ins (loader.Host.FireMaster).
func (b base) fire(_ context.Context, tag string, body *data.Map) error {
	return b.bus.Fire(tag, body)
}

// A keyring has the keys of the master and its minions, and what is known about them.
type keyring struct {
	key      *crypto.PrivateKey // of the master, as at the start
	keys     *pki.Dir
	secrets  *channel.Secrets
	drop     *pki.DropFile
	denied   *pki.Sightings
	versions *pki.Versions
}

// storage is where jobs and the data of minions are stored.
type storage struct {
	jobs    returners.JobCache
	markers *markers // of jobs, for other programs
	data    *minionData
	batches cache.Bank // records of batches; runners have no access to it
	// called after another master of the cluster has changed a record of a batch
	batchChanged func(bank string, id job.ID)
	queue        *queue.Queue // for minions that are away; nil if it cannot be opened
	ext          *extCache    // nil if there is no ext_job_cache
	mirror       *mirror      // nil if jobs are not mirrored
	// a master_job_cache, and an ext_job_cache, of users' own code; nil if there is none
	ownJobs, ownExt *ownReturner
}

// functions are what runs on the master itself, and what its templates are rendered with.
type functions struct {
	// execution functions, which fetch salt:// files from the master's file server
	plugins []loader.Plugin
	// functions that can call each other: runners, wheel, modules
	shelves map[string]*loader.Registry
	render  render.Brought // its files come from the master's file server
}

// newFunctions makes the execution functions. Salt:// files come from files.
func newFunctions(o Options, files *fileserver.Server) functions {
	f := functions{shelves: map[string]*loader.Registry{}, render: o.Render}
	f.render.Files.Local = func(*loader.Env) (fileclient.Source, error) {
		return fileclient.Local(files), nil
	}
	if o.Modules != nil {
		f.plugins = o.Modules(f.render)
	}
	return f
}

// open opens keys, caches and the other files of a master, and makes the parts that use them.
func (m *Master) open(ctx context.Context, cfg *config.Master, o Options) (*parts, error) {
	p := &parts{cfg: cfg, o: o, own: newOwnCode(o.Own, o.Log)}
	if m.clustered {
		p.bridge = newBridge()
	}
	p.base = newBase(cfg, o, sharing(p.bridge))
	if err := m.joinCluster(ctx, p); err != nil {
		return nil, err
	}
	if err := p.openKeys(ctx); err != nil {
		return nil, err
	}
	if p.member != nil {
		if err := p.member.openKeys(ctx, m, p.keys); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(p.drop.Clear(), m.openCaches(ctx, p)); err != nil {
		return nil, err
	}
	var err error
	p.denied = pki.OpenSightings(cfg.CacheDir)
	if p.versions, err = pki.OpenVersions(cfg.CacheDir); err != nil {
		o.Log.WithError(err).
			Warn("Cannot read the protocol versions of minions: minions have to prove their ids again")
	}
	m.closers = append(m.closers, p.versions.Flush)
	if err := m.openGate(p); err != nil {
		return nil, err
	}
	if p.files, err = openFileServer(ctx, p.base, o.Backends); err != nil {
		return nil, err
	}
	m.closers = append(m.closers, p.files.Close)
	p.functions = newFunctions(o, p.files.Server)
	p.tops = &masterTops{base: p.base, sources: o.Tops, own: p.own}
	p.compiler, err = newPillars(p.base, p.functions, o.Sources, p.own)
	if err := errors.Join(err, p.tops.renew()); err != nil {
		return nil, err
	}
	p.watchers = newWatchers(portOf(m.reply.Addr(), cfg.RetPort))
	p.queue = m.openQueue(p.base)
	p.presence = newPresence(m.publish, lastConnected(cfg.CacheDir, o.Log), p.settings, o.Now)
	p.presence.others = p.member.elsewhere()
	p.presence.onDuplicate = func(id, host, other string) {
		o.Log.Warnf(
			"Minion %s sends from %s and %s alternately with one key; a copied host needs an id and a key of its own",
			id, host, other)
	}
	if p.syndics, err = openSyndics(p); err != nil {
		return nil, err
	}
	p.sender = channel.NewPublisher(p.key, p.secrets, m.publish, channel.PublisherOptions{
		Sign: cfg.SignPubMessages, Algorithm: cfg.PublishSigningAlgorithm, Filter: cfg.ZMQFiltering,
		Syndics: cfg.OrderMasters,
	})
	return p, nil
}

// openKeys opens the key directories and the key of the master.
func (p *parts) openKeys(ctx context.Context) (err error) {
	cfg := p.cfg
	p.drop = &pki.DropFile{Dir: cfg.CacheDir}
	if p.keys, err = pki.Open(cfg.PKIDir,
		pki.Options{Permissive: cfg.PermissivePKIAccess, MaxOfOne: shareOf(cfg)}); err != nil {
		return err
	}
	protectKeys(p.keys, cfg, p.log)
	if err := p.member.shareKeys(ctx, p.keys, cfg); err != nil {
		return err
	}
	p.key, err = ownKey(p.keys, masterKey, cfg.KeySize, "key_pass", cfg.KeyPass)
	return err
}

// recallWatched lets users who wait for jobs of an earlier master read their events.
func (p *parts) recallWatched(ctx context.Context) {
	if p.cfg.PublisherACL.Len() == 0 {
		return
	}
	if err := p.watchers.recall(ctx, p.jobs, p.now()); err != nil {
		p.log.WithError(err).
			Warn("users of publisher_acl do not see events of jobs from before this start: cannot read the job cache")
	}
}

// openGate makes the part that decides who may do what.
func (m *Master) openGate(p *parts) error {
	o := p.access(p.cfg)
	gate, err := auth.New(o)
	if err != nil {
		return err
	}
	m.closers = append(m.closers, gate.Tokens().Close)
	p.gate = &gatekeeper{gate, p.quiet, p.log}
	return p.member.openTokens(o.TokenDir)
}

// openCaches opens the caches in the cachedir.
func (m *Master) openCaches(ctx context.Context, p *parts) error {
	cfg := p.cfg
	sessions, err := os.OpenRoot(filepath.Join(cfg.CacheDir, "sessions"))
	if err != nil {
		return fmt.Errorf("open session keys: %w", err)
	}
	m.closers = append(m.closers, sessions.Close)
	if p.secrets, err = channel.NewSecrets(sessions, cfg.PublishSession); err != nil {
		return err
	}
	if err := p.member.shareSession(ctx, p.secrets); err != nil {
		return err
	}
	bank, err := p.cache()
	if err != nil {
		return err
	}
	m.closers = append(m.closers, bank.Close)
	p.data = &minionData{}
	if p.data.bank, err = p.member.share(m, bank, cluster.Data, replica.Options{Lazy: []string{"minions"}}); err != nil {
		return err
	}
	orders, err := localfs.Open(filepath.Join(cfg.CacheDir, batchDir))
	if err != nil {
		return err
	}
	m.closers = append(m.closers, orders.Close)
	p.batches, err = p.member.share(m, orders, cluster.Batches, replica.Options{
		Durable: []string{batchBank, stopBank, endBank},
		Changed: func(bank, id string) { p.batchChanged(bank, job.ID(id)) }})
	if err != nil {
		return err
	}
	if p.jobs, err = p.o.Jobs(ctx); err != nil {
		return err
	}
	m.closers = append(m.closers, p.jobs.Close)
	return nil
}

// cache opens the cache of grains, pillar and mine.
func (p *parts) cache() (cache.Closer, error) {
	if p.o.Cache == nil {
		return localfs.Open(p.cfg.CacheDir)
	}
	return p.o.Cache(p.cfg.Map())
}

// newSignIn makes the part that handles sign-ins of minions.
func newSignIn(
	b base, k keyring, cfg *config.Master, presence *presence, publishPort int,
) (*channel.SignInServer, error) {
	o := channel.SignInOptions{
		PublishPort: publishPort, Connected: presence.Connected, Policy: policy(cfg, k.keys),
		Host: presence.Host,
		// the other half serves minions that have signed in
		Parallel: max(1, runtime.GOMAXPROCS(0)/2), Log: b.log,
	}
	o.OnDenied = func(id string, key *crypto.PublicKey, from string) {
		k.denied.Note(id, pki.KeyName(key), from, b.now())
	}
	var err error
	if o.Handover, err = k.keys.Chain(masterKey); err != nil {
		return nil, err
	}
	if cfg.AuthEvents {
		o.OnEvent = func(event *data.Map) {
			if err := b.bus.Fire(eventbus.Tagify("auth"), event); err != nil {
				b.log.WithError(err).Error("announce a sign-in on the event bus")
			}
		}
	}
	if !cfg.MasterSignPubkey {
		return channel.NewSignInServer(k.key, k.keys, k.secrets, o), nil
	}
	if cfg.MasterUsePubkeySignature {
		o.SignedKey, err = k.keys.ReadText(cfg.MasterPubkeySignature)
	} else {
		o.Signing, err = ownKey(k.keys, cfg.MasterSignKeyName, cfg.KeySize,
			"signing_key_pass", cfg.SigningKeyPass)
	}
	if err != nil {
		return nil, fmt.Errorf("master_sign_pubkey: %w", err)
	}
	return channel.NewSignInServer(k.key, k.keys, k.secrets, o), nil
}

// protectKeys removes access of other users to the private keys of the master, and logs a warning:
// anyone who has read such a key can impersonate the master.
func protectKeys(keys *pki.Dir, cfg *config.Master, log logrus.FieldLogger) {
	for _, name := range []string{masterKey, cfg.MasterSignKeyName} {
		done, err := keys.Protect(name, cfg.PermissivePKIAccess)
		log := log.WithField("file", filepath.Join(cfg.PKIDir, name+".pem"))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			log.WithError(err).Warn("a private key may be readable by other users")
		case done:
			log.Warn(
				"a private key was readable by other users and has been protected; anyone who read it can impersonate the master",
			)
		}
	}
}

// ownKey returns one of the master's own keys, and creates it if it does not exist. Errors about
// the passphrase name the option that holds it.
func ownKey(keys *pki.Dir, name string, bits int, option, pass string) (*crypto.PrivateKey, error) {
	if strings.HasPrefix(pass, "sdb://") {
		return nil, fmt.Errorf("%s: sdb:// addresses are not supported here: write the passphrase itself", option)
	}
	key, err := keys.LoadOrCreate(name, bits, pass)
	switch {
	case !errors.Is(err, crypto.ErrPassphrase):
		return key, err
	case pass == "":
		return nil, fmt.Errorf("%s: the key has a passphrase and the option is not set: %w", option,
			err)
	}
	return nil, fmt.Errorf("%s: the passphrase does not open the key: %w", option, err)
}

// newPublishing makes the part that publishes jobs, with the parts that track them.
func newPublishing(p *parts) *publishing {
	masterID, _ := p.cfg.Map().Get("master_id")
	away := newOffline(p.base, p.queue, p.jobs, p.keys, p.gate, p.presence)
	pub := &publishing{
		base: p.base,
		jobRecords: jobRecords{jobs: p.jobs, markers: p.markers, ext: p.ext,
			own: []*ownReturner{p.ownExt, p.ownJobs}, keepJobs: p.cfg.JobCache},
		gate:         p.gate,
		fleet:        p.fleet(),
		presence:     p.presence,
		progress:     newProgress(p.jobs, away, p.now),
		offline:      away,
		publisher:    p.sender,
		masterID:     masterID,
		orderMasters: p.cfg.OrderMasters,
		syndics:      p.syndics,
		taken:        func(job.ID) bool { return false },
		watchers:     p.watchers,
	}
	away.pub = pub
	pub.deliveries = newDeliveries(p.base, p.jobs, p.keepsReturns(), p.cfg.CacheDir, pub)
	away.deliveries = pub.deliveries
	pub.progress.resend = pub.resend
	return pub
}

// keepsReturns reports whether returns are stored in the job cache.
func (p *parts) keepsReturns() bool { return p.cfg.JobCache && p.cfg.ExtJobCache == "" }

// fleet returns the minions as targets see them.
func (p *parts) fleet() *fleet { return &fleet{p.keys, p.data, p.settings} }

// newControl makes the part that runs runner and wheel functions.
func newControl(p *parts) (*control, error) {
	connected := func() ([]string, error) { return p.presence.Connected(), nil }
	f := controlPlugins{states: p.o.States, sdb: p.o.SDB, order: p.o.Order}
	if p.o.Wheel != nil {
		f.wheel = p.o.Wheel(wheels.Needs{Keys: p.keys, Connected: connected, Bank: p.data.bank})
	}
	if p.o.Runners != nil {
		f.runners = p.o.Runners(stdrunners.Needs{
			Jobs:      p.reader(),
			Keys:      p.keys,
			Bank:      p.data.bank,
			Files:     p.files.Server,
			Connected: connected,
			Connections: func() (map[string]presences.Connection, error) {
				all, _ := p.presence.Connections()
				return all, nil
			},
			Mine:      mineOf(p.cfg.ID, p.fleet()),
			Tokens:    &ownTokens{p.gate},
			Locks:     p.files.Server,
			Pillar:    p.compiler,
			GitPillar: gitpillar.Among(p.o.Sources),
			Render:    p.functions.render,
			Cluster:   p.member.asMember(),
		})
	}
	c := &control{base: p.base, id: p.cfg.ID, gate: p.gate, watchers: p.watchers, jobs: p.jobs,
		mirror: p.mirror, own: p.own, ownJobs: p.ownJobs,
		waiting: make(chan runners.Call, runnerQueue)}
	return c, c.load(p.functions, f)
}

// reader returns the job cache as operators see it.
func (p *parts) reader() returners.JobReader {
	if p.ownJobs == nil {
		return p.jobs
	}
	return returners.NewOwnReader(p.ownJobs.own, p.jobs)
}

// newRequests lists the commands of a master.
func newRequests(p *parts, pub *publishing) *requests {
	ret := &returning{base: p.base, jobs: p.jobs, mirror: p.mirror, ownJobs: p.ownJobs, keys: p.keys,
		presence: p.presence, progress: pub.progress, syndics: p.syndics, cacheReturns: p.keepsReturns(),
		quota: newOwnQuota(p.now,
			func() time.Duration { return p.settings.config().KeepJobsSeconds })}
	events := &minionEvents{bus: p.bus, progress: pub.progress, presence: p.presence,
		quiet: p.quiet, log: p.log}
	p.returning = ret
	below := &syndicReturns{returning: ret, syndics: p.syndics}
	pillar := &pillars{base: p.base, data: p.data, presence: p.presence, compiler: p.compiler}
	peers := newPeers(p.base, pub, newOwners(p.cfg.CacheDir), p.control.call)
	r := &requests{
		clear: map[string]command{
			"ping":    {do: ping},
			"publish": {do: pub.publish},
		},
		encrypted: map[string]command{
			"_return":        {do: ret.ret, effect: true},
			"_syndic_return": {do: below.ret, effect: true},
			"_minion_event": {do: (&syndicEvents{minionEvents: events, syndics: p.syndics}).fire,
				proof: true, effect: true},
			"_pillar": {do: pillar.pillar},
		},
	}
	maps.Copy(r.encrypted, fileCommands(p.base, p.files.Server, minionfs.NewInbox(p.cfg.CacheDir)))
	maps.Copy(r.encrypted, topsCommands(p.tops))
	maps.Copy(r.encrypted, mineCommands(p.base, p.fleet()))
	maps.Copy(r.encrypted, peerCommands(peers))
	maps.Copy(r.encrypted, keyCommands(p.base, p.keyring, p.data, p.compiler, pub.offline))
	r.encrypted["_master_opts"] = pub.progress.offering(r.encrypted["_master_opts"], p.settings)
	maps.Copy(r.clear, tokenCommands(p.gate))
	maps.Copy(r.clear, runCommands(p.control))
	maps.Copy(r.clear, jobReturnsCommands(&jobReturns{p.base, p.gate, p.jobs, p.watchers}))
	return r
}

func newMaintenance(p *parts, pub *publishing) *maintenance {
	m := &maintenance{
		base: p.base,
		keyUpkeep: &keyUpkeep{base: p.base, keyring: p.keyring, data: p.data, compiler: p.compiler,
			presence: p.presence, offline: pub.offline, lead: p.member.leading()},
		jobUpkeep: &jobUpkeep{base: p.base, jobs: p.jobs, markers: p.markers,
			owners: newOwners(p.cfg.CacheDir)},
		interval:   max(p.cfg.LoopInterval, time.Second),
		deliveries: pub.deliveries,
		files: &openFiles{keys: p.keys, limit: fileLimits,
			log: p.log.WithField("option", "max_open_files")},
		tokens:     p.gate.Tokens(),
		freeMemory: p.o.ReleaseMemory,
	}
	if p.syndics != nil {
		m.syndics = p.syndics.keep
	}
	m.files.logLimits(p.cfg.MaxOpenFiles)
	m.ping = func(ctx context.Context) {
		pub.pingConnected(ctx, p.presence, p.settings.config().MinionDataCache)
	}
	return m
}

// shareOf returns how many pending keys one address may add, in the form that package pki expects.
func shareOf(cfg *config.Master) int {
	return cmp.Or(cfg.MaxPendingKeysPerAddress, -1)
}

// policy returns the configured policy for sign-ins.
func policy(cfg *config.Master, keys *pki.Dir) channel.Policy {
	return channel.Policy{OpenMode: cfg.OpenMode, MaxMinions: cfg.MaxMinions,
		Rules: autosign(cfg, keys)}
}

// admission returns the configured limits on requests.
func admission(cfg *config.Master) channel.Admission {
	return channel.Admission{MinimumVersion: cfg.MinimumAuthVersion,
		RequestTTL: cfg.RequestServerTTL}
}

// autosign returns the configured rules for new keys.
func autosign(cfg *config.Master, keys *pki.Dir) *pki.Autosign {
	return &pki.Autosign{
		AcceptAll:  cfg.AutoAccept,
		File:       cfg.AutosignFile,
		RejectFile: cfg.AutorejectFile,
		Dir:        keys.AutosignDir(),
		Timeout:    cfg.AutosignTimeout,
		GrainsDir:  cfg.AutosignGrainsDir,
		Permissive: cfg.PermissivePKIAccess,
	}
}
