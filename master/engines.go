package master

import (
	"errors"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/engines"
)

// newEngines makes the configured engines. An unknown one is logged, and the others run.
func newEngines(
	cfg *config.Master, makers map[string]engines.Make, b base,
) ([]daemon.Part, error) {
	list, err := engines.Parts(cfg.Engines, makers,
		engines.Host{ID: cfg.ID, Bus: b.bus, Log: b.log})
	if errors.Is(err, engines.ErrUnknown) {
		b.log.Info(err)
		err = nil
	}
	return list, err
}
