package master

import (
	"errors"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/engines"
)

// newEngines makes the engines of the configuration. One that is not there is told of, and the others run.
func newEngines(p *parts) ([]daemon.Part, error) {
	list, err := engines.Parts(p.cfg.Engines, p.o.Engines, engines.Host{ID: p.cfg.ID, Bus: p.bus, Log: p.o.Log})
	if errors.Is(err, engines.ErrUnknown) {
		p.o.Log.Info(err)
		err = nil
	}
	return list, err
}
