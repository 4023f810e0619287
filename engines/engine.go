// Package engines makes the engines of a daemon: parts that run as long as it does. The option engines names them
// (salt/engines/__init__.py).
//
//	engines:
//	  - script: {cmd: /srv/look.sh, interval: 10}
//	  - feeder:
//	      engine_module: program
//	      cmd: [/usr/local/bin/feeder, -v]
//	      tags: ['salt/job/*/ret/*']
//
// Each is a part under supervision: one that fails is started again. What an engine fires comes from a program of the
// operator's, and may have any tag of printable characters.
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
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/returners"
)

// A Host is what a daemon lends to an engine.
type Host struct {
	Name string // of the engine, in the log
	ID   string // of the daemon
	Bus  *eventbus.Bus
	Log  logrus.FieldLogger
}

// A Make makes an engine of its options, which may be empty, and does nothing else. run works until ctx ends.
type Make func(h Host, options *data.Map) (run func(ctx context.Context) error, err error)

// ErrUnknown is wrapped for an engine that is not there.
var ErrUnknown = errors.New("there is no such engine")

// Parts makes the engines that the option engines names: a list of names, and of maps of one name to its options. Where
// these have engine_module, that is the engine, and the name is free. An engine that is not there is left out, and the
// error, which wraps ErrUnknown for each of these, tells of it; unless errors.Is says so the parts are none.
//
// The engine reactor is part of the master anyway and makes no part.
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
			return nil, fmt.Errorf("engines: %w", config.Below(config.Entry{Index: i, Value: entry}, err))
		}
		maker, ok := engines[module]
		switch {
		case module == "reactor":
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

// Check says what is wrong in the option engines, in findings of package config: each engine is made, and none runs. An engine that
// is not there is a doubt, as the others run.
func Check(option any, engines map[string]Make) error {
	entries, ok := option.([]any)
	if !ok && option != nil {
		return config.Expected("a list of names, or of mappings with options", option, "begin each engine with a dash")
	}
	var errs []error
	for i, entry := range entries {
		errs = append(errs, config.Below(config.Entry{Index: i, Value: entry}, checkEntry(entry, engines)))
	}
	return errors.Join(errs...)
}

func checkEntry(entry any, engines map[string]Make) error {
	name, module, options, err := parse(entry)
	if err != nil || module == "reactor" {
		return err
	}
	maker, ok := engines[module]
	if !ok {
		return config.Doubt(config.NoSuch("engine", module, slices.Collect(maps.Keys(engines)), Foreign()))
	}
	silent := logging.Discard()
	_, err = maker(Host{Name: name, Bus: eventbus.New(eventbus.Options{}), Log: silent}, options)
	if _, isText := entry.(string); !isText {
		err = config.Below(name, err)
	}
	return err
}

// Foreign returns the names of the engines that only a daemon of Salt's has (salt/engines).
func Foreign() []string {
	return []string{"docker_events", "fluent", "http_logstash", "ircbot", "junos_syslog", "libvirt_events", "logentries", "logstash_engine",
		"napalm_syslog", "redis_sentinel", "slack", "slack_bolt_engine", "sqs_events", "stalekey", "test", "thorium", "webhook"}
}

func partName(name string) string { return "engine " + name }

// unique adds a number to a name that another engine has already.
func unique(name string, parts []daemon.Part) string {
	for n, base := 2, name; slices.ContainsFunc(parts, func(p daemon.Part) bool { return p.Name == partName(name) }); n++ {
		name = fmt.Sprintf("%s %d", base, n)
	}
	return name
}

// parse reads an entry of the option.
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
			return "", "", nil, config.Below(entry.Keys()[0], config.Expected("a mapping of options", value, "write OPTION: VALUE lines, indented, below the name of the engine"))
		}
		options = options.Clone()
		if module = options.Text("engine_module"); module == "" {
			module = name
		}
		options.Delete("engine_module")
		return name, module, options, nil
	}
	return "", "", nil, config.Expected("a name, or one name with options", entry, "write - NAME, or - NAME: with its options indented below it")
}

// Only returns an error for options of other names.
func Only(options *data.Map, names ...string) error {
	for key := range options.All() {
		if !slices.Contains(names, data.Str(key)) {
			return fmt.Errorf("option %s is unknown; the options are %s", data.Str(key), strings.Join(names, ", "))
		}
	}
	return nil
}

// An Event is what a program asks to be fired.
type Event struct {
	Tag  string
	Data *data.Map
}

// ParseLine reads a line of a program: a JSON object with tag and, if there is any, data, a JSON object. ok is false for an
// object without a tag, which asks for nothing.
func ParseLine(line []byte) (e Event, ok bool, err error) {
	v, err := returners.ParseJSON(line)
	if err != nil {
		return e, false, err
	}
	m, isMap := v.(*data.Map)
	if !isMap {
		return e, false, errors.New("the line is no JSON object")
	}
	tag := m.Value("tag")
	if !data.Truth(tag) {
		return e, false, nil
	}
	if e.Tag, isMap = tag.(string); !isMap {
		return e, false, fmt.Errorf("the tag %s is no text", data.Repr(tag))
	}
	if err := eventbus.CheckForeignTag(e.Tag); err != nil {
		return e, false, err
	}
	if e.Data, isMap = m.Value("data").(*data.Map); !isMap && m.Value("data") != nil {
		return e, false, fmt.Errorf("data of the event %s is no JSON object", e.Tag)
	}
	if e.Data == nil {
		e.Data = data.NewMap()
	}
	return e, true, nil
}

// Fire fires an event. One with data names its daemon under id, unless it names something else there.
func (h Host) Fire(e Event) error {
	if e.Data.Len() > 0 && !e.Data.Has("id") {
		e.Data.Set("id", h.ID)
	}
	return h.Bus.Fire(e.Tag, e.Data)
}
