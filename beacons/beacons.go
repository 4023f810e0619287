// Package beacons runs the beacons of a minion: small checks of its host that are repeated all the
// time and fire an event when there is something to report (salt/beacons/__init__.py).
//
//	beacons:
//	  load:
//	    - averages: {1m: [0.0, 2.0], 5m: [0.0, 1.5], 15m: [0.1, 1.0]}
//	    - interval: 10
//	  inotify_ntp:
//	    - files: {/etc/ntp.conf: {mask: [modify]}}
//	    - beacon_module: inotify
//
// An [Engine] has the configured beacons of the minion's options and of its pillar. Once a turn it
// calls each beacon that is due and fires what they report on the minion's bus. Beacons run side by
// side: a slow one is left out until it has ended, and delays no other. An error or a panic of a
// beacon becomes an event and a line in the log.
//
// A beacon is a plug-in of the kind beacons with the functions validate, beacon and close. Those
// that are built in implement [Beacon]; users' own come from the registry's source.
//
// What a beacon keeps between its turns lies in the scope of its context (see [State]). It is kept
// until the configuration of that beacon changes. Users' own code is also loaded anew when the
// minion reloads its modules.
//
// Engine.Manage answers the requests of the module beacons (salt/minion.py, manage_beacons).
//
// Differences from Salt: beacons of pillar and options run side by side, as beacons.list shows them,
// while in Salt those of a pillar hide the others. A turn takes loop_interval. A refresh of modules
// or pillar does not make built-in beacons forget what they have seen. Invalid configurations are
// logged once, not in each turn. run_once also holds for beacons of the pillar. Characters of a tag
// other than printable ASCII, such as spaces in the path of a file, are written as %20.
package beacons

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
)

// ReturnTag is the tag of the event with the events of a turn. Its body has the list beacons, each
// with tag, data and beacon_name, and with error if the beacon failed.
const ReturnTag = "__beacons_return"

// Options configure an Engine.
type Options struct {
	ID        string           // of the minion
	Turn      time.Duration    // length of a turn, the option loop_interval; 0 means a second
	Functions *loader.Registry // plug-ins of the kind beacons
	Config    *data.Map        // the option beacons; may be nil
	Pillar    *data.Map        // the key beacons of the pillar; Config has precedence; may be nil
	// functions of the jobs that run on this host, for disable_during_state_run; may be nil
	Running func() []string
	Fire    func(tag string, body *data.Map) error // fires an event on the minion's bus; required
	// option max_event_size of that bus in bytes; 0 means 1048576
	MaxEventSize int
	Log          logrus.FieldLogger // nil means no log
}

// An Engine runs beacons. It is safe for concurrent use.
type Engine struct {
	o    Options
	wake chan struct{} // capacity 1: the configuration has changed
	work sync.WaitGroup

	mu      sync.Mutex
	ctx     context.Context // of Run; nil if it is not running
	read    *data.Map       // the option beacons as last read
	config  *data.Map       // as changed by requests
	pillar  *data.Map
	watches []*watch // of the enabled beacons, in the order of the configuration
}

// New returns an Engine. Run starts its beacons.
func New(o Options) *Engine {
	if o.Log == nil {
		o.Log = logging.Discard()
	}
	if o.Turn <= 0 {
		o.Turn = time.Second
	}
	if o.MaxEventSize <= 0 {
		o.MaxEventSize = 1 << 20
	}
	return &Engine{o: o, wake: make(chan struct{}, 1), read: own(o.Config), config: own(o.Config),
		pillar: own(o.Pillar)}
}

func own(m *data.Map) *data.Map {
	if m == nil {
		return data.NewMap()
	}
	own, _ := data.Clone(m).(*data.Map)
	return own
}

// SetPillar replaces the beacons of the pillar. Beacons whose configuration stays the same go on.
func (e *Engine) SetPillar(beacons *data.Map) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pillar = own(beacons)
	e.arrange()
}

// SetConfig replaces the option beacons after the minion has read its configuration again. Beacons
// whose configuration in the files is unchanged stay as requests have changed them.
func (e *Engine) SetConfig(beacons *data.Map) {
	e.mu.Lock()
	defer e.mu.Unlock()
	next := own(beacons)
	for name := range e.read.All() {
		if !next.Has(name) {
			e.config.Delete(name)
		}
	}
	for name, v := range next.All() {
		if was, ok := e.read.Get(name); !ok || !data.Equal(was, v) {
			e.config.Set(name, data.Clone(v))
		}
	}
	e.read = next
	e.arrange()
}

// Refresh makes the engine judge all configurations anew, after plug-ins or options have changed.
// Beacons of users' own code start anew; built-in ones go on with what they keep.
func (e *Engine) Refresh() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, w := range e.watches {
		if w.builtIn {
			w.stale = true
			continue
		}
		w.drop()
		e.watches[i] = e.newWatch(w.name, w.given)
		e.watches[i].turns, e.watches[i].spent = w.turns, w.spent
	}
}

// isBuiltIn reports whether a beacon is written in Go.
func (e *Engine) isBuiltIn(module string) bool {
	f, ok := e.o.Functions.Func(module + ".beacon")
	_, builtIn := f.(*loader.Function)
	return ok && builtIn
}

// merged returns the beacons of pillar and options by name; the latter have precedence.
func (e *Engine) merged(pillar, config bool) *data.Map {
	all := data.NewMap()
	if pillar {
		all.Update(e.pillar)
	}
	if config {
		all.Update(e.config)
	}
	return all
}

// arrange makes the watches those of the configuration, and keeps those that are unchanged. e.mu is
// held.
func (e *Engine) arrange() {
	if e.ctx == nil {
		return
	}
	before := map[string]*watch{}
	for _, w := range e.watches {
		before[w.name] = w
	}
	e.watches = nil
	all := e.merged(true, true)
	if on, ok := all.Get("enabled"); ok && !data.Truth(on) {
		all = nil
	}
	for key, v := range all.All() {
		name := data.Str(key)
		if name == "enabled" {
			continue
		}
		w := before[name]
		if w != nil && data.Equal(w.given, v) {
			delete(before, name)
		} else if w = e.newWatch(name, v); !w.set.enabled {
			w.drop()
			continue
		}
		e.watches = append(e.watches, w)
	}
	for _, w := range before {
		w.drop()
	}
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// stateRuns reports whether a function of the module state runs on this host.
func (e *Engine) stateRuns() bool {
	if e.o.Running == nil {
		return false
	}
	for _, fun := range e.o.Running() {
		if len(fun) >= len("state") && fun[:len("state")] == "state" { // Salt: re.match('state.*')
			return true
		}
	}
	return false
}
