package beacons

import (
	"context"
	"errors"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A watch is a configured beacon that is enabled.
type watch struct {
	name  string
	given any // its configuration
	set   settings
	fault error // in the settings

	scope  *loader.Scope // what it keeps between its turns
	ctx    context.Context
	cancel context.CancelFunc

	// under Engine.mu
	busy    bool // a turn of it is under way
	stale   bool // its configuration has to be judged again
	spent   bool // run_once is done
	dropped bool // it is no longer one of the engine's
	builtIn bool // it is written in Go
	missed  int  // turns since it became busy
	turns   int  // since it last ran, with that one; 0 before the first

	// only changed by the turn under way
	judged, valid bool
	over          bool // its last turn had too many events
}

// newWatch returns a watch that has not run yet.
func (e *Engine) newWatch(name string, given any) *watch {
	w := &watch{name: name, given: data.Clone(given)}
	w.set, w.fault = parse(name, given)
	parent := e.ctx
	if parent == nil {
		parent = context.Background()
	}
	w.ctx, w.cancel = context.WithCancel(parent)
	w.ctx, w.scope = loader.WithScope(w.ctx)
	return w
}

// drop ends a watch. If a turn of it is under way, that ends it.
func (w *watch) drop() {
	w.dropped = true
	w.cancel()
	if !w.busy {
		w.end()
	}
}

// end gives up what the beacon keeps. Errors do not matter then.
func (w *watch) end() { _ = w.scope.Close() }

// due counts a turn and reports whether the beacon runs in it (salt/beacons/__init__.py,
// _process_interval). The first run is a turn after the first interval has passed.
func (w *watch) due(turn time.Duration) bool {
	switch {
	case w.set.interval == 0:
		return true
	case w.turns > 0 && float64(w.turns)*turn.Seconds() >= w.set.interval:
		w.turns = 1
		return true
	}
	w.turns++
	return false
}

// judge validates the configuration and logs the faults.
func (e *Engine) judge(w *watch) bool {
	log, module := e.o.Log, w.set.module
	if w.fault != nil {
		log.Errorf("Beacon %s configuration invalid, not running.\n%v", w.name, w.fault)
		return false
	}
	if e.o.Functions.Has(module + ".validate") {
		valid, comment, err := e.validate(w.ctx, module, w.given)
		if err != nil {
			comment = err.Error()
		}
		if !valid {
			log.Errorf("Beacon %s configuration invalid, not running.\n%s", w.name, comment)
			return false
		}
	} else {
		log.Warnf("No validate function found for %s, running basic beacon validation.", w.name)
		if _, isList := w.given.([]any); !isList {
			log.Error("Configuration for beacon must be a list.")
			return false
		}
	}
	if !e.o.Functions.Has(module + ".beacon") {
		if reason, refused := e.o.Functions.Refusal(module + ".beacon"); refused {
			log.Errorf("Unable to load %s beacon: %s", module, reason)
		}
		log.Warnf("Unable to process beacon %s", w.name)
		return false
	}
	return true
}

// errVerdict is returned for a function validate that does not return what it should.
var errVerdict = errors.New("validate of the beacon returned no pair of a truth value and a text")

// validate calls the function validate of a beacon.
func (e *Engine) validate(ctx context.Context, module string, config any) (bool, string, error) {
	v, err := e.o.Functions.Invoke(ctx, module+".validate", []any{data.Clone(config)}, nil)
	if err != nil {
		return false, "", err
	}
	var pair []any
	switch v := v.(type) {
	case data.Tuple:
		pair = v
	case []any:
		pair = v
	}
	if len(pair) != 2 {
		return false, "", errVerdict
	}
	return data.Truth(pair[0]), data.Str(pair[1]), nil
}
