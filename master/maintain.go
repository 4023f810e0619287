package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/schedule"
)

// keyLook is how often the master looks whether keys were deleted. Salt looks each loop_interval, a minute.
const keyLook = time.Second

// deniedLook is how often it is written down which keys were denied, for salt-key to show.
const deniedLook = 3 * time.Second

// versionsLook is how often it is written down by which versions minions have proved themselves.
const versionsLook = time.Second

// maintenance does what a master does now and then: drop old jobs, replace session keys, tell who is connected
// (salt/master.py, Maintenance).
type maintenance struct {
	jobs       returners.JobCache
	markers    *markers
	owners     *owners
	settings   *settings
	interval   time.Duration // loop_interval
	secrets    *channel.Secrets
	drop       *pki.DropFile
	keys       pki.Store
	data       *minionData
	bus        *eventbus.Bus
	presence   *presence
	offline    *offline
	deliveries *deliveries
	ping       func(context.Context) // asks minions for a sign of life after a rotation
	now        func() time.Time
	files      *openFiles
	tokens     *auth.Tokens
	heir       *succession
	denied     *pki.Sightings
	versions   *pki.Versions
	compiler   *pillarCompiler
	giveBack   func()
	log        logrus.FieldLogger
}

// tasks are what is done now and then, each by itself: a slow one delays no other.
func (m *maintenance) tasks() []schedule.Task {
	return []schedule.Task{
		{Name: "__keys", Every: keyLook, Do: m.lookAtKeys},
		{Name: "__denied", Every: deniedLook, Do: func(context.Context) error { return m.tellDenied() }},
		{Name: "__versions", Every: versionsLook, Do: func(context.Context) error { return m.versions.Flush() }},
		{Name: "__jobs", Every: m.interval, Do: m.clean},
		{Name: "__tokens", Every: m.interval, Do: func(ctx context.Context) error { _, err := m.tokens.Clean(ctx); return err }},
		{Name: "__sessions", Every: m.interval, Do: func(context.Context) error { return m.forgetSessions() }},
		{Name: "__files", Every: m.interval, RunOnStart: true, Do: func(context.Context) error { return m.files.check() }},
		{Name: "__presence", Every: m.interval, Do: func(context.Context) error { m.presence.announce(m.bus, m.log); return nil }},
		{Name: "__presence_file", Every: keyLook, RunOnStart: true, Do: m.presence.writeFile},
		{Name: "__offline", Every: queueLook, Do: m.offline.look},
		{Name: "__deliveries", Every: deliveryLook, RunOnStart: true, Do: m.deliveries.look},
		{Name: "__memory", Every: thriftLook, Do: newThrift(m.giveBack).look},
	}
}

// lookAtKeys takes up another key of the master, and replaces the session keys when they are too old, or a key was deleted or
// rejected.
func (m *maintenance) lookAtKeys(ctx context.Context) error {
	taken, errHeir := m.heir.look(ctx)
	asked, err := m.drop.Take()
	if err != nil {
		err = fmt.Errorf("look for a request to rotate the session keys: %w", err)
	}
	if err = errors.Join(errHeir, err); !taken && !asked && !m.secrets.Due() {
		return err
	}
	if asked || m.secrets.Due() {
		if e := m.rotate(); e != nil {
			return errors.Join(err, fmt.Errorf("rotate the session keys: %w", e))
		}
	}
	if m.settings.now().PingOnRotate {
		m.ping(ctx)
	}
	return err
}

// tellDenied writes down which keys were denied.
func (m *maintenance) tellDenied() error {
	at := m.now() // what is denied from here on may not be in the list
	denied, err := m.idsOf(pki.Denied)
	if err != nil {
		return err
	}
	return m.denied.Flush(denied, at)
}

// rotate makes a new shared key and forgets all of minions that are no longer accepted.
func (m *maintenance) rotate() error {
	if err := m.secrets.Rotate(); err != nil {
		return err
	}
	m.log.Info("Rotating master AES key")
	return errors.Join(m.bus.Fire("key", data.NewMap("rotate_aes_key", true)), m.forgetSessions(), m.forgetData())
}

// forgetSessions drops the session keys of minions that are not accepted, and what waits for them.
func (m *maintenance) forgetSessions() error {
	accepted, err := m.idsOf(pki.Accepted)
	if err != nil {
		return err
	}
	m.presence.prune(accepted)
	m.versions.Prune(accepted)
	return errors.Join(m.offline.forget(accepted), m.secrets.Prune(accepted))
}

// forgetData drops grains, pillar, mine and pushed files of minions that have no key at all (salt/key.py,
// check_minion_cache, which salt-key itself does).
func (m *maintenance) forgetData() error {
	if data.Truth(m.settings.all().Value("preserve_minion_cache")) {
		return nil
	}
	known, err := m.idsOf(pki.States()...)
	if err != nil {
		return err
	}
	return errors.Join(m.data.prune(known), m.compiler.prune(known))
}

// idsOf returns whether an id has a key in one of some states.
func (m *maintenance) idsOf(states ...pki.State) (has func(id string) bool, err error) {
	all := map[string]bool{}
	for _, s := range states {
		ids, err := m.keys.List(s)
		if err != nil {
			return nil, fmt.Errorf("list keys: %w", err)
		}
		for _, id := range ids {
			all[id] = true
		}
	}
	return func(id string) bool { return all[id] }, nil
}

// clean drops old jobs.
func (m *maintenance) clean(ctx context.Context) error {
	err := m.markers.clean()
	if err != nil {
		err = fmt.Errorf("drop markers of old jobs: %w", err)
	}
	keep := m.settings.now().KeepJobsSeconds
	if keep <= 0 { // for ever; who sent a job is asked for while its returns come
		return errors.Join(err, m.owners.clean(m.now().Add(-ownersLife)))
	}
	before := m.now().Add(-keep)
	err = errors.Join(err, m.owners.clean(before))
	n, e := m.jobs.Clean(ctx, before)
	if e != nil {
		return errors.Join(err, fmt.Errorf("drop old jobs: %w", e))
	}
	if n > 0 {
		m.log.Debugf("dropped %d old jobs", n)
	}
	return err
}
