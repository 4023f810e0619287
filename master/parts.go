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
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/cache"
	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/queue"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/reactor"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/tops"
)

// parts are what New makes on the way to a Master.
type parts struct {
	cfg      *config.Master // as it was at the start
	settings *settings
	o        Options
	key      *crypto.PrivateKey
	keys     *pki.Dir
	secrets  *channel.Secrets
	bus      *eventbus.Bus
	watchers *watchers
	data     *minionData
	batches  cache.Bank // records of batches, where no runner reaches
	gate     *gatekeeper
	presence *presence
	queue    *queue.Queue // for minions that are away; nil where it cannot be opened
	ids      *job.IDs
	sender   *channel.Publisher
	jobs     returners.JobCache
	quiet    *loglimit.Limiter
	drop     *pki.DropFile
	files    *fileserver.Server
	plugins  []loader.Plugin             // execution functions that get their files from files
	shelves  map[string]*loader.Registry // what else there is to call by name: runners, wheel, modules
	compiler *pillarCompiler
	tops     atomic.Pointer[tops.Tops]
	control  *control
	denied   *pki.Sightings
	versions *pki.Versions
	ext      *extCache // nil where there is no ext_job_cache
	mirror   *mirror   // nil where jobs are not mirrored

	reactions atomic.Pointer[render.Engine] // of files of reactions; nil where this master renders nothing
}

// open opens what lies on disk.
func (m *Master) open(ctx context.Context, cfg *config.Master, o Options) (*parts, error) {
	p := &parts{cfg: cfg, settings: newSettings(cfg), o: o, shelves: map[string]*loader.Registry{}, ids: job.NewIDs(o.Now), quiet: &loglimit.Limiter{Now: o.Now}, drop: &pki.DropFile{Dir: cfg.CacheDir}}
	if cfg.UniqueJID {
		p.ids = job.NewUniqueIDs(o.Now)
	}
	var err error
	if p.keys, err = pki.Open(cfg.PKIDir, pki.Options{Permissive: cfg.PermissivePKIAccess, MaxOfOne: shareOf(cfg)}); err != nil {
		return nil, err
	}
	p.protectKeys()
	if p.key, err = ownKey(p.keys, masterKey, cfg.KeySize, "key_pass", cfg.KeyPass); err != nil {
		return nil, err
	}
	if err := errors.Join(p.drop.Clear(), m.openCaches(ctx, p)); err != nil {
		return nil, err
	}
	p.denied = pki.OpenSightings(cfg.CacheDir)
	if p.versions, err = pki.OpenVersions(cfg.CacheDir); err != nil {
		o.Log.WithError(err).Warn("the versions by which minions have proved their ids cannot be read: minions have to prove them anew")
	}
	m.closers = append(m.closers, p.versions.Flush)
	if err := m.openGate(p); err != nil {
		return nil, err
	}
	if err := m.openFileServer(ctx, p); err != nil {
		return nil, err
	}
	if err := errors.Join(p.openPillarCompiler(), p.openTops()); err != nil {
		return nil, err
	}
	p.watchers = newWatchers(portOf(m.reply.Addr(), cfg.RetPort))
	p.bus = eventbus.New(eventbus.Options{MaxEventSize: cfg.MaxEventSize, Now: o.Now, Log: o.Log, Private: reactor.Private})
	p.queue = m.openQueue(p)
	p.presence = newPresence(m.publish, earlier(cfg.CacheDir, o.Log), p.settings, o.Now)
	p.presence.twice = func(id, host, other string) {
		o.Log.Warnf("Minion %s speaks from %s and from %s by turns, with one key; a host that was copied needs an id and a key of its own", id, host, other)
	}
	p.sender = channel.NewPublisher(p.key, p.secrets, m.publish, channel.PublisherOptions{
		Sign: cfg.SignPubMessages, Algorithm: cfg.PublishSigningAlgorithm, Filter: cfg.ZMQFiltering, Syndics: cfg.OrderMasters,
	})
	return p, nil
}

// recallWatched lets users who wait for jobs of an earlier master read their events.
func (p *parts) recallWatched(ctx context.Context) {
	if p.cfg.PublisherACL.Len() == 0 {
		return
	}
	if err := p.watchers.recall(ctx, p.jobs, p.o.Now()); err != nil {
		p.o.Log.WithError(err).Warn("users of publisher_acl do not see events of jobs from before this start: read the job cache")
	}
}

// openGate makes the part that knows who may do what.
func (m *Master) openGate(p *parts) error {
	gate, err := auth.New(p.access(p.cfg))
	if err != nil {
		return err
	}
	m.closers = append(m.closers, gate.Tokens().Close)
	p.gate = &gatekeeper{gate, p.quiet, p.o.Log}
	return nil
}

// openCaches opens what lies in the cachedir.
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
	bank, err := localfs.Open(cfg.CacheDir)
	if err != nil {
		return err
	}
	m.closers = append(m.closers, bank.Close)
	p.data = &minionData{bank: bank}
	orders, err := localfs.Open(filepath.Join(cfg.CacheDir, batchFolder))
	if err != nil {
		return err
	}
	m.closers = append(m.closers, orders.Close)
	p.batches = orders
	if p.jobs, err = p.o.Jobs(ctx); err != nil {
		return err
	}
	m.closers = append(m.closers, p.jobs.Close)
	return nil
}

func (p *parts) markers() *markers {
	_, tree := p.jobs.(interface{ KeepsTree() }) // it is in Salt's job cache itself
	m := &markers{dir: filepath.Join(p.cfg.CacheDir, "jobs"), hash: p.cfg.HashType, off: tree, life: markerLife, now: p.o.Now}
	if hours := mirrorHours(p.cfg); hours > 0 && !tree {
		m.returns, m.life = true, max(markerLife, time.Duration(hours)*time.Hour)
	}
	return m
}

// newSignIn makes the part that lets minions in.
func newSignIn(p *parts, publishPort int) (*channel.SignIn, error) {
	cfg := p.cfg
	o := channel.SignInOptions{
		PublishPort: publishPort, Connected: p.presence.connected, Policy: policy(cfg, p.keys), Host: p.presence.host,
		Parallel: max(1, runtime.GOMAXPROCS(0)/2), Log: p.o.Log, // the other half is for who is in already
	}
	o.OnDenied = func(id string, key *crypto.PublicKey, from string) {
		p.denied.Note(id, pki.KeyName(key), from, p.o.Now())
	}
	var err error
	if o.Handover, err = p.keys.Chain(masterKey); err != nil {
		return nil, err
	}
	if cfg.AuthEvents {
		o.OnEvent = func(event *data.Map) {
			if err := p.bus.Fire(eventbus.Tagify("auth"), event); err != nil {
				p.o.Log.WithError(err).Error("a sign-in cannot be announced on the event bus")
			}
		}
	}
	if !cfg.MasterSignPubkey {
		return channel.NewSignIn(p.key, p.keys, p.secrets, o), nil
	}
	if cfg.MasterUsePubkeySignature {
		o.SignedKey, err = p.keys.ReadText(cfg.MasterPubkeySignature)
	} else {
		o.Signing, err = ownKey(p.keys, cfg.MasterSignKeyName, cfg.KeySize, "signing_key_pass", cfg.SigningKeyPass)
	}
	if err != nil {
		return nil, fmt.Errorf("master_sign_pubkey: %w", err)
	}
	return channel.NewSignIn(p.key, p.keys, p.secrets, o), nil
}

// protectKeys closes private keys of the master that others may read, and says so: who has read one can be the master.
func (p *parts) protectKeys() {
	for _, name := range []string{masterKey, p.cfg.MasterSignKeyName} {
		done, err := p.keys.Protect(name, p.cfg.PermissivePKIAccess)
		log := p.o.Log.WithField("file", filepath.Join(p.cfg.PKIDir, name+".pem"))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			log.WithError(err).Warn("a private key may be open to others than the master")
		case done:
			log.Warn("a private key was open to others than the master, and is closed to them now; whoever read it can pass for the master")
		}
	}
}

// ownKey returns a key of the master's own, made where there is none. Faults of the passphrase name the option that holds it.
func ownKey(keys *pki.Dir, name string, bits int, option, pass string) (*crypto.PrivateKey, error) {
	if strings.HasPrefix(pass, "sdb://") {
		return nil, fmt.Errorf("%s: addresses of sdb are not looked up here: write the passphrase itself", option)
	}
	key, err := keys.LoadOrCreate(name, bits, pass)
	switch {
	case !errors.Is(err, crypto.ErrPassphrase):
		return key, err
	case pass == "":
		return nil, fmt.Errorf("%s: it is not set, and the key has a passphrase: %w", option, err)
	}
	return nil, fmt.Errorf("%s: it does not open the key: %w", option, err)
}

func newPublishing(p *parts) *publishing {
	masterID, _ := p.cfg.Map().Get("master_id")
	away := newOffline(p)
	pub := &publishing{watchers: p.watchers, taken: func(job.ID) bool { return false }, presence: p.presence, progress: newProgress(p.jobs, away, p.o.Now), offline: away, gate: p.gate, fleet: &fleet{p.keys, p.data, p.settings}, jobs: p.jobs, markers: p.markers(), bus: p.bus, publisher: p.sender,
		ids: p.ids, masterID: masterID, orderMasters: p.cfg.OrderMasters, keepJobs: p.cfg.JobCache, ext: p.ext, quiet: p.quiet, now: p.o.Now, log: p.o.Log}
	away.pub = pub
	pub.deliveries = newDeliveries(p, pub)
	away.deliveries = pub.deliveries
	pub.progress.again = pub.repeat
	return pub
}

// newRequests lists the commands of a master.
func newRequests(p *parts, pub *publishing) *requests {
	ret := &returning{jobs: p.jobs, mirror: p.mirror, bus: p.bus, keys: p.keys, ids: p.ids, presence: p.presence,
		progress: pub.progress, quiet: p.quiet,
		quota:    newOwnQuota(p.o.Now, func() time.Duration { return p.settings.now().KeepJobsSeconds }),
		settings: p.settings, cacheReturns: p.cfg.JobCache && p.cfg.ExtJobCache == "", now: p.o.Now, log: p.o.Log}
	events := &minionEvents{bus: p.bus, progress: pub.progress, presence: p.presence, quiet: p.quiet, log: p.o.Log}
	pillar := &pillars{data: p.data, presence: p.presence, bus: p.bus, quiet: p.quiet, settings: p.settings, compiler: p.compiler, log: p.o.Log}
	r := &requests{
		clear: map[string]command{
			"ping":    {do: ping},
			"publish": {do: pub.publish},
		},
		encrypted: map[string]command{
			"_return":       {do: ret.ret, effect: true},
			"_minion_event": {do: events.fire, proof: true, effect: true},
			"_pillar":       {do: pillar.pillar},
		},
	}
	maps.Copy(r.encrypted, fileCommands(p))
	maps.Copy(r.encrypted, topsCommands(p))
	maps.Copy(r.encrypted, mineCommands(p))
	maps.Copy(r.encrypted, peerCommands(newPeers(p, pub)))
	maps.Copy(r.encrypted, keyCommands(p, pub.offline))
	r.encrypted["_master_opts"] = pub.progress.offering(r.encrypted["_master_opts"], p.settings)
	maps.Copy(r.clear, tokenCommands(p))
	maps.Copy(r.clear, runCommands(p.control))
	return r
}

func newMaintenance(p *parts, pub *publishing) *maintenance {
	m := &maintenance{owners: newOwners(p.cfg.CacheDir), jobs: p.jobs, markers: p.markers(), settings: p.settings, interval: max(p.cfg.LoopInterval, time.Second), secrets: p.secrets,
		drop: p.drop, keys: p.keys, data: p.data, bus: p.bus, presence: p.presence, tokens: p.gate.Tokens(), now: p.o.Now,
		giveBack: p.o.GiveBack, log: p.o.Log}
	m.files = &openFiles{keys: p.keys, limit: fileLimits, log: p.o.Log.WithField("option", "max_open_files")}
	m.files.logLimits(p.cfg.MaxOpenFiles)
	m.ping = func(ctx context.Context) { pub.pingConnected(ctx, p.presence, p.settings.now().MinionDataCache) }
	m.offline, m.deliveries, m.denied, m.versions, m.compiler = pub.offline, pub.deliveries, p.denied, p.versions, p.compiler
	return m
}

// shareOf returns how many keys one address may bring, in the form of package pki.
func shareOf(cfg *config.Master) int {
	return cmp.Or(cfg.MaxPendingKeysPerAddress, -1)
}

// policy returns whom the configuration lets in.
func policy(cfg *config.Master, keys *pki.Dir) channel.Policy {
	return channel.Policy{OpenMode: cfg.OpenMode, MaxMinions: cfg.MaxMinions, Rules: autosign(cfg, keys)}
}

// admission returns which requests the configuration admits.
func admission(cfg *config.Master) channel.Admission {
	return channel.Admission{MinimumVersion: cfg.MinimumAuthVersion, RequestTTL: cfg.RequestServerTTL}
}

// autosign returns the rules of the configuration for keys that are new.
func autosign(cfg *config.Master, keys *pki.Dir) *pki.Autosign {
	return &pki.Autosign{AcceptAll: cfg.AutoAccept, File: cfg.AutosignFile, RejectFile: cfg.AutorejectFile, Dir: keys.AutosignDir(),
		Timeout: cfg.AutosignTimeout, GrainsDir: cfg.AutosignGrainsDir, Permissive: cfg.PermissivePKIAccess}
}
