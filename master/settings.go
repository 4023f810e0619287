package master

import (
	"sync/atomic"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// settings are the options that hold now; Renew replaces them while parts of the master read them.
type settings struct{ p atomic.Pointer[held] }

type held struct {
	cfg  *config.Master
	opts *data.Map // all of cfg in Salt's form; never changed
}

func newSettings(cfg *config.Master) *settings {
	s := &settings{}
	s.set(cfg)
	return s
}

func (s *settings) set(cfg *config.Master) { s.p.Store(&held{cfg, cfg.Map()}) }

// now returns the options of the master. They must not be changed.
func (s *settings) now() *config.Master { return s.p.Load().cfg }

// all returns the options in Salt's form. They must not be changed.
func (s *settings) all() *data.Map { return s.p.Load().opts }

// Renew puts the options of a configuration in force that was read again. It is what config.Master.Renew returned, so that
// only those differ that may.
func (m *Master) Renew(cfg *config.Master) {
	p := m.parts
	old := p.settings.now()
	p.settings.set(cfg)
	m.signIn.SetPolicy(policy(cfg, p.keys))
	m.server.SetAdmission(admission(cfg))
	p.secrets.SetLife(cfg.PublishSession)
	if err := p.gate.SetOptions(p.access(cfg)); err != nil {
		m.log.WithError(err).Error("the rights of users stay as they were")
	}
	m.admitListeners(cfg)
	p.control.renew(p.settings.all())
	if err := p.compiler.renew(); err != nil {
		m.log.WithError(err).Error("pillars are compiled by the options of before")
	}
	if err := p.openTops(); err != nil {
		m.log.WithError(err).Error("master_tops stays as it was")
	}
	m.schedule.renew()
	m.renewFiles(old)
	m.renewReactor(old)
}
