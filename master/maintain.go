package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/schedule"
)

// keyInterval is how often the master checks for deleted keys and a new key of its own. Salt checks
// every loop_interval, a minute.
const keyInterval = time.Second

// deniedInterval is how often denied keys are written to disk for salt-key.
const deniedInterval = 3 * time.Second

// versionsInterval is how often the protocol versions of minions are written to disk.
const versionsInterval = time.Second

// maintenance does the periodic work of a master: it drops old jobs, rotates session keys, and
// announces which minions are connected (salt/master.py, Maintenance).
type maintenance struct {
	base
	*keyUpkeep
	*jobUpkeep
	interval   time.Duration // loop_interval
	deliveries *deliveries
	files      *openFiles
	tokens     *auth.Tokens
	syndics    func(context.Context) error // upkeep of syndics; nil if there are none
	freeMemory func()
}

// keyUpkeep watches the keys of the master and its minions. It drops what belongs to minions
// without a key.
type keyUpkeep struct {
	base
	keyring
	succession *succession
	data       *minionData
	compiler   *pillarCompiler
	presence   *presence
	offline    *offline
	lead       *leadership           // nil without a cluster
	ping       func(context.Context) // pings minions after a key rotation
}

// jobUpkeep drops old jobs.
type jobUpkeep struct {
	base
	jobs    returners.JobCache
	markers *markers
	owners  *owners
}

// tasks returns the periodic tasks. Each runs on its own, so that a slow one delays no other.
func (m *maintenance) tasks() []schedule.Task {
	return []schedule.Task{
		{Name: "__keys", Every: keyInterval, Do: m.checkKeys},
		{Name: "__denied", Every: deniedInterval,
			Do: func(context.Context) error { return m.flushDenied() }},
		{Name: "__versions", Every: versionsInterval,
			Do: func(context.Context) error { return m.versions.Flush() }},
		{Name: "__jobs", Every: m.interval, Do: m.clean},
		{
			Name:  "__tokens",
			Every: m.interval,
			Do:    func(ctx context.Context) error { _, err := m.tokens.Clean(ctx); return err },
		},
		{Name: "__sessions", Every: m.interval,
			Do: m.forgetSessions},
		{
			Name:       "__files",
			Every:      m.interval,
			RunOnStart: true,
			Do:         func(context.Context) error { return m.files.check() },
		},
		{
			Name:  "__presence",
			Every: m.interval,
			Do: m.lead.either(func(context.Context) error {
				m.presence.announce(m.bus, m.log)
				return nil
			}, m.presence.follow),
		},
		{Name: "__presence_file", Every: keyInterval, RunOnStart: true, Do: m.presence.writeFile},
		{Name: "__syndics", Every: keyInterval, Do: m.keepSyndics},
		{Name: "__offline", Every: queueInterval, Do: m.lead.either(m.offline.sendQueued, m.offline.keepQueued)},
		{Name: "__deliveries", Every: deliveryInterval, RunOnStart: true,
			Do: m.lead.either(m.deliveries.resendDue, m.deliveries.followDue)},
		{Name: "__memory", Every: memoryInterval, Do: newMemoryReleaser(m.freeMemory).releaseIfIdle},
	}
}

// keepSyndics does the upkeep of syndics, if there may be any.
func (m *maintenance) keepSyndics(ctx context.Context) error {
	if m.syndics == nil {
		return nil
	}
	return m.syndics(ctx)
}

// checkKeys adopts a new key of the master. It rotates the session keys if they are too old, or if
// a minion's key was deleted or rejected.
func (k *keyUpkeep) checkKeys(ctx context.Context) error {
	changed, errKey := k.succession.adoptNewKey(ctx)
	requested, err := k.drop.Take()
	due := k.secrets.Due() && k.lead.leads() // one member of a cluster makes the key for all
	if err != nil {
		err = fmt.Errorf("check for a request to rotate the session keys: %w", err)
	}
	if err = errors.Join(errKey, err); !changed && !requested && !due {
		return err
	}
	if requested || due {
		if e := k.rotate(ctx); e != nil {
			return errors.Join(err, fmt.Errorf("rotate the session keys: %w", e))
		}
	}
	if k.settings.config().PingOnRotate {
		k.ping(ctx)
	}
	return err
}

// flushDenied writes to disk which keys were denied.
func (k *keyUpkeep) flushDenied() error {
	at := k.now() // keys denied from now on may be missing from the list
	denied, err := k.idsOf(pki.Denied)
	if err != nil {
		return err
	}
	return k.denied.Flush(denied, at)
}

// rotate makes a new session key and drops the data of minions that are no longer accepted.
func (k *keyUpkeep) rotate(ctx context.Context) error {
	if err := k.secrets.Rotate(); err != nil {
		return err
	}
	k.log.Info("Rotating master AES key")
	return errors.Join(k.bus.Fire("key", data.NewMap("rotate_aes_key", true)), k.forgetSessions(ctx),
		k.forgetData())
}

// forgetSessions drops the session keys and queued jobs of minions that are not accepted.
func (k *keyUpkeep) forgetSessions(ctx context.Context) error {
	if !k.offline.knowsKeys() {
		return nil
	}
	accepted, err := k.idsOf(pki.Accepted)
	if err != nil {
		return err
	}
	k.presence.Forget(accepted)
	k.versions.Prune(accepted)
	return errors.Join(k.offline.forget(ctx, accepted), k.secrets.Prune(accepted))
}

// forgetData drops grains, pillar, mine and pushed files of minions without any key (salt/key.py,
// check_minion_cache, which salt-key itself does).
func (k *keyUpkeep) forgetData() error {
	if data.Truth(k.settings.saltOptions().Value("preserve_minion_cache")) {
		return nil
	}
	known, err := k.idsOf(pki.States()...)
	if err != nil {
		return err
	}
	return errors.Join(k.data.prune(known), k.compiler.prune(known))
}

// idsOf returns a function that reports whether an id has a key in one of the states.
func (k *keyUpkeep) idsOf(states ...pki.State) (has func(id string) bool, err error) {
	all := map[string]bool{}
	for _, s := range states {
		ids, err := k.keys.List(s)
		if err != nil {
			return nil, fmt.Errorf("list keys: %w", err)
		}
		for _, id := range ids {
			all[id] = true
		}
	}
	return func(id string) bool { return all[id] }, nil
}

// clean drops old jobs and their markers.
func (j *jobUpkeep) clean(ctx context.Context) error {
	err := j.markers.clean()
	if err != nil {
		err = fmt.Errorf("drop markers of old jobs: %w", err)
	}
	keep := j.settings.config().KeepJobsSeconds
	if keep <= 0 { // jobs are kept for ever; owners are needed only while returns arrive
		return errors.Join(err, j.owners.clean(j.now().Add(-ownersLife)))
	}
	before := j.now().Add(-keep)
	err = errors.Join(err, j.owners.clean(before))
	n, e := j.jobs.Clean(ctx, before)
	if e != nil {
		return errors.Join(err, fmt.Errorf("drop old jobs: %w", e))
	}
	if n > 0 {
		j.log.Debugf("dropped %d old jobs", n)
	}
	return err
}
