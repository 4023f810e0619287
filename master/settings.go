package master

import (
	"sync/atomic"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// settings holds the current options. Renew replaces them while other parts read them.
type settings struct{ p atomic.Pointer[snapshot] }

type snapshot struct {
	cfg  *config.Master
	opts *data.Map // cfg in Salt's form; never changed
}

func newSettings(cfg *config.Master) *settings {
	s := &settings{}
	s.set(cfg)
	return s
}

func (s *settings) set(cfg *config.Master) { s.p.Store(&snapshot{cfg, cfg.Map()}) }

// config returns the current options. They must not be changed.
func (s *settings) config() *config.Master { return s.p.Load().cfg }

// saltOptions returns the current options in Salt's form. They must not be changed.
func (s *settings) saltOptions() *data.Map { return s.p.Load().opts }
