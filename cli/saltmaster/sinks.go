package saltmaster

import (
	"context"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cli/code"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/master"
	"github.com/brineproject/brine/modules"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/returners/opener"
)

// ownReturner reports whether the returner of a name is users' own code.
func ownReturner(cfg *config.Master, name string, need opener.Capability) bool {
	return name != "" &&
		code.Has(cfg.Map(), "returners", name, slices.Contains(opener.Names(need), name))
}

// JobCache returns the function that opens the job cache of a master. With a master_job_cache of
// users' own code the master keeps its records in its own file beside it.
func JobCache(
	cfg *config.Master, log logrus.FieldLogger,
) func(context.Context) (returners.JobCache, error) {
	if ownReturner(cfg, cfg.JobCacheName(), opener.Jobs) {
		return opener.File(cfg, log)
	}
	return opener.JobCache(cfg, log)
}

// ExtJobCache returns the function that opens ext_job_cache; nil if it is not set, or is users' own
// code.
func ExtJobCache(
	cfg *config.Master, log logrus.FieldLogger,
) func(context.Context) (returners.JobCache, error) {
	if ownReturner(cfg, cfg.ExtJobCache, opener.Jobs) {
		return nil
	}
	return opener.ExtJobCache(cfg, log)
}

// EventSinks returns the returners of event_return that are not users' own code.
func EventSinks(cfg *config.Master) []master.EventSink {
	var sinks []master.EventSink
	for _, name := range cfg.EventReturn {
		if name == "" || ownReturner(cfg, name, opener.Events) {
			continue
		}
		sinks = append(sinks, master.EventSink{Name: name,
			Open: func(ctx context.Context) (returners.EventReturner, error) {
				return opener.Sink(ctx, name, cfg.Map())
			}})
	}
	return sinks
}

// Brought returns what a master renders with: Brine's renderers and those that run Python.
func Brought(own *code.Code) render.Brought {
	b := modules.Brought()
	b.Renderers = append(b.Renderers, own.Renderers()...)
	return b
}
