package master

import (
	"errors"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/engine"
)

// newEngines makes the engines of the configuration. One that is not there is told of, and the others run.
func newEngines(p *parts) ([]daemon.Part, error) {
	engines, err := engine.Parts(p.cfg.Engines, p.o.Engines, engine.Host{ID: p.cfg.ID, Bus: p.bus, Log: p.o.Log})
	if errors.Is(err, engine.ErrUnknown) {
		p.o.Log.Error(err)
		err = nil
	}
	return engines, err
}
