// Package engines makes the engines of a daemon: parts that run as long as it does. The option
// engines lists them (salt/engines/__init__.py).
//
//	engines:
//	  - script: {cmd: /srv/look.sh, interval: 10}
//	  - feeder:
//	      engine_module: program
//	      cmd: [/usr/local/bin/feeder, -v]
//	      tags: ['salt/job/*/ret/*']
//
// Each engine is supervised: one that fails is restarted. The events that an engine fires come from
// a program of the operator, and may have any tag of printable characters.
package engines

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/returners"
)

// A Host is the daemon's interface for an engine.
type Host struct {
	Name string // of the engine, in the log
	ID   string // of the daemon
	Bus  *eventbus.Bus
	Log  logrus.FieldLogger
	// Opts are the effective options of the daemon. Do not modify them.
	Opts *data.Map

	// Send fires an event where the engine's events belong: a minion sends it to its masters. nil
	// means the bus.
	Send func(ctx context.Context, tag string, body *data.Map) error
	// Minions are those of a master; nil on a minion.
	Minions Minions
	// Leads reports whether this master does what is done once in its cluster. nil means that it does.
	Leads func() bool
	// Order publishes a job of a master, see loader.Host; nil on a minion.
	Order func(ctx context.Context, order *data.Map, yield func(id string, answer *data.Map) bool) error
	// Functions are the execution functions that run on a master's host, and Render renders the files
	// of its own file server; nil on a minion.
	Functions *loader.Registry
	Render    render.Brought
}

// Minions are the minions of a master, for an engine.
type Minions interface {
	// Accepted returns the ids with an accepted key.
	Accepted() ([]string, error)
	// Connected returns the ids of the connected minions.
	Connected() []string
	// DeleteKey deletes the key of a minion.
	DeleteKey(ctx context.Context, id string) error
}

// A Make makes an engine from its options, which may be empty. It has no other effect. run works
// until ctx ends.
type Make func(h Host, options *data.Map) (run func(ctx context.Context) error, err error)

// ErrUnknown is wrapped for an unknown engine.
var ErrUnknown = errors.New("unknown engine")

// Parts makes the engines of the option engines: a list of names, and of maps of one name to its
// options. If the options contain engine_module, that is the engine, and the name is arbitrary.
// Unknown engines are left out, and the error wraps ErrUnknown for each of them. With any other
// error there are no parts.
//
// The engine reactor is part of the master anyway, so it makes no part unless engines has it.
func Parts(option any, engines map[string]Make, h Host) ([]daemon.Part, error) {
	entries, ok := option.([]any)
	if !ok && option != nil {
		return nil, errors.New("engines: expected a list of names, or of maps with options")
	}
	var parts []daemon.Part
	var unknown []error
	for i, entry := range entries {
		name, module, options, err := parse(entry)
		if err != nil {
			return nil, fmt.Errorf("engines: %w",
				config.Below(config.Entry{Index: i, Value: entry}, err))
		}
		maker, ok := engines[module]
		switch {
		case module == "reactor" && !ok:
			if _, err := reactorOptions(options); err != nil {
				return nil, fmt.Errorf("engines: reactor: %w", err)
			}
			continue
		case !ok:
			unknown = append(unknown, fmt.Errorf("engines: %s: %w", module, ErrUnknown))
			continue
		}
		h.Name = unique(name, parts)
		run, err := maker(h, options)
		if err != nil {
			return nil, fmt.Errorf("engines: %s: %w", name, err)
		}
		parts = append(parts, daemon.Part{Name: partName(h.Name), Run: daemon.Always(run)})
	}
	return parts, errors.Join(unknown...)
}

// Check returns the errors in the option engines as findings of package config: each engine is
// made, but none runs. An unknown engine is only a doubt, as the others run.
func Check(option any, engines map[string]Make) error {
	entries, ok := option.([]any)
	if !ok && option != nil {
		return config.Expected("a list of names, or of mappings with options", option,
			"begin each engine with a dash")
	}
	var errs []error
	for i, entry := range entries {
		errs = append(errs, config.Below(config.Entry{Index: i, Value: entry},
			checkEntry(entry, engines)))
	}
	return errors.Join(errs...)
}

func checkEntry(entry any, engines map[string]Make) error {
	name, module, options, err := parse(entry)
	maker, ok := engines[module]
	if err != nil {
		return err
	}
	if module == "reactor" && !ok {
		if _, err = reactorOptions(options); err != nil {
			err = config.Below(name, err)
		}
		return err
	}
	if !ok {
		return config.Doubt(config.NoSuch("engine", module,
			slices.Collect(maps.Keys(engines)), Foreign()))
	}
	silent := logging.Discard()
	_, err = maker(Host{Name: name, Bus: eventbus.New(eventbus.Options{}), Log: silent}, options)
	if _, isText := entry.(string); !isText {
		err = config.Below(name, err)
	}
	return err
}

// Foreign returns the names of the engines that only Salt has (salt/engines).
func Foreign() []string {
	return []string{"ircbot", "junos_syslog", "libvirt_events", "logentries",
		"napalm_syslog", "slack", "slack_bolt_engine", "sqs_events"}
}

// MasterOnly makes an engine that minions cannot run: its name is an error.
func MasterOnly(Host, *data.Map) (func(context.Context) error, error) {
	return nil, errors.New("this engine runs on masters only")
}

func partName(name string) string { return "engine " + name }

// unique adds a number to a name that another engine already has.
func unique(name string, parts []daemon.Part) string {
	for n, base := 2, name; slices.ContainsFunc(parts,
		func(p daemon.Part) bool { return p.Name == partName(name) }); n++ {
		name = fmt.Sprintf("%s %d", base, n)
	}
	return name
}

// parse parses an entry of the option.
func parse(entry any) (name, module string, options *data.Map, err error) {
	switch entry := entry.(type) {
	case string:
		return entry, entry, data.NewMap(), nil
	case *data.Map:
		if entry.Len() != 1 {
			break
		}
		name = data.Str(entry.Keys()[0])
		value := entry.Value(entry.Keys()[0])
		options, ok := value.(*data.Map)
		if !ok && value != nil {
			return "", "", nil, config.Below(entry.Keys()[0],
				config.Expected("a mapping of options", value,
					"write OPTION: VALUE lines, indented, below the name of the engine"))
		}
		options = options.Clone()
		if module = options.Text("engine_module"); module == "" {
			module = name
		}
		options.Delete("engine_module")
		return name, module, options, nil
	}
	return "", "", nil, config.Expected("a name, or one name with options", entry,
		"write - NAME, or - NAME: with its options indented below it")
}

// Only returns an error if options contains other names.
func Only(options *data.Map, names ...string) error {
	for key := range options.All() {
		if !slices.Contains(names, data.Str(key)) {
			return fmt.Errorf("option %s is unknown; the options are %s", data.Str(key),
				strings.Join(names, ", "))
		}
	}
	return nil
}

// An Event is an event that a program asks to fire.
type Event struct {
	Tag  string
	Data *data.Map
}

// ParseLine parses a line printed by a program: a JSON object with tag and optionally data, a JSON
// object. ok is false for an object without a tag, which fires nothing.
func ParseLine(line []byte) (e Event, ok bool, err error) {
	v, err := returners.ParseJSON(line)
	if err != nil {
		return e, false, err
	}
	m, isMap := v.(*data.Map)
	if !isMap {
		return e, false, errors.New("the line is not a JSON object")
	}
	tag := m.Value("tag")
	if !data.Truth(tag) {
		return e, false, nil
	}
	if e.Tag, isMap = tag.(string); !isMap {
		return e, false, fmt.Errorf("the tag %s is not text", data.Repr(tag))
	}
	if err := eventbus.CheckForeignTag(e.Tag); err != nil {
		return e, false, err
	}
	if e.Data, isMap = m.Value("data").(*data.Map); !isMap && m.Value("data") != nil {
		return e, false, fmt.Errorf("data of the event %s is not a JSON object", e.Tag)
	}
	if e.Data == nil {
		e.Data = data.NewMap()
	}
	return e, true, nil
}

// Fire sends an event. If it has data without a key id, the daemon's ID is set as id.
func (h Host) Fire(ctx context.Context, e Event) error {
	if e.Data.Len() > 0 && !e.Data.Has("id") {
		e.Data.Set("id", h.ID)
	}
	return h.FireRaw(ctx, e.Tag, e.Data)
}

// FireRaw sends an event as it is.
func (h Host) FireRaw(ctx context.Context, tag string, body *data.Map) error {
	if h.Send != nil {
		return h.Send(ctx, tag, body)
	}
	return h.Bus.Fire(tag, body)
}
