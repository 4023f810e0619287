package beacons

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
)

// AnswerTag begins the tags of the events that answer requests.
const AnswerTag = "/salt/minion/minion_beacon"

// ErrRequest is wrapped by Manage for an invalid request.
var ErrRequest = errors.New("bad request to the beacons")

// Manage executes the request in the body of an event manage_beacons, and returns the event that
// answers it. Functions, arguments and answers are those of salt/minion.py, manage_beacons, and
// salt/beacons/__init__.py.
func (e *Engine) Manage(ctx context.Context, request *data.Map) (tag string, body *data.Map, err error) {
	fun, name := request.Text("func"), request.Value("name")
	if !data.Hashable(name) {
		return "", nil, fmt.Errorf("%w: name %s", ErrRequest, data.Repr(name))
	}
	switch fun {
	case "list_available":
		return AnswerTag + "s_list_available_complete",
			data.NewMap("complete", true, "beacons", e.available()), nil
	case "validate_beacon":
		return AnswerTag + "_validation_complete", e.verdict(ctx, name, request.Value("beacon_data")), nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch fun {
	case "list":
		all := e.merged(data.Truth(request.Value("include_pillar")), data.Truth(request.Value("include_opts")))
		return AnswerTag + "s_list_complete",
			data.NewMap("complete", true, "beacons", data.Clone(all)), nil
	case "enable", "disable":
		e.config.Set("enabled", fun == "enable")
		e.arrange()
		return AnswerTag + "s_" + fun + "d_complete",
			data.NewMap("complete", true, "beacons", data.Clone(e.config)), nil
	}
	suffix, complete, comment := e.change(fun, name, request.Value("beacon_data"))
	if suffix == "" {
		return "", nil, fmt.Errorf("%w: Function \"%s\" is unavailable in salt.utils.beacons", ErrRequest,
			data.Str(request.Value("func")))
	}
	e.arrange()
	return AnswerTag + suffix, data.NewMap("complete", complete, "comment", comment, "beacons",
		data.Clone(e.config)), nil
}

// change executes a request that changes a beacon, or all. e.mu is held. suffix is "" for an unknown
// function.
func (e *Engine) change(fun string, key, given any) (suffix string, complete bool, comment string) {
	name, inPillar, there := data.Str(key), e.pillar.Has(key), e.config.Has(key)
	refused := fmt.Sprintf("Cannot %s beacon item %s, it is configured in pillar.",
		strings.TrimSuffix(fun, "_beacon"), name)
	switch fun {
	case "add":
		switch {
		case inPillar:
			return "_add_complete", false, fmt.Sprintf(
				"Cannot update beacon item %s, because it is configured in pillar.", name)
		case there:
			comment = "Updating settings for beacon item: " + name
		default:
			comment = "Added new beacon item: " + name
		}
		e.config.Set(key, data.Clone(given))
		return "_add_complete", true, comment
	case "modify":
		if inPillar {
			return "_modify_complete", false, refused
		}
		e.config.Set(key, data.Clone(given))
		return "_modify_complete", true, "Updating settings for beacon item: " + name
	case "delete":
		if inPillar {
			return "_delete_complete", false, refused
		}
		if !e.config.Delete(key) {
			return "_delete_complete", true, "Beacon item " + name + " not found."
		}
		return "_delete_complete", true, "Deleting beacon item: " + name
	case "enable_beacon", "disable_beacon":
		return e.turnOn(key, refused, fun == "enable_beacon")
	case "reset":
		e.config = data.NewMap()
		return "_reset_complete", true, "Beacons have been reset"
	}
	return "", false, ""
}

// turnOn enables or disables a beacon.
func (e *Engine) turnOn(key any, refused string, on bool) (suffix string, complete bool, comment string) {
	suffix, comment = "_disabled_complete", "Disabling beacon item "+data.Str(key)
	if on {
		suffix, comment = "_enabled_complete", "Enabling beacon item "+data.Str(key)
	}
	if e.pillar.Has(key) {
		return suffix, false, refused
	}
	switch given := e.config.Value(key).(type) {
	case *data.Map:
		changed := given.Clone()
		changed.Set("enabled", on)
		e.config.Set(key, changed)
	case []any:
		e.config.Set(key, withEnabled(given, on))
	default:
		return suffix, false, fmt.Sprintf("Beacon item %s not found.", data.Str(key))
	}
	return suffix, true, comment
}

// withEnabled returns a list of small dictionaries with the key enabled, in the place of an earlier
// one or at the end.
func withEnabled(given []any, on bool) []any {
	changed, _ := data.Clone(given).([]any)
	for _, item := range changed {
		if part, ok := item.(*data.Map); ok && part.Has("enabled") {
			part.Set("enabled", on)
			return changed
		}
	}
	return append(changed, data.NewMap("enabled", on))
}

// available returns the names of the beacons that work on this host.
func (e *Engine) available() []any {
	names := []any{}
	for _, fun := range e.o.Functions.Names() {
		if name, ok := strings.CutSuffix(fun, ".beacon"); ok {
			names = append(names, name)
		}
	}
	return names
}

// verdict validates a configuration that is not in use.
func (e *Engine) verdict(ctx context.Context, key, given any) *data.Map {
	module := key
	switch given := given.(type) {
	case *data.Map:
		if m, ok := given.Get("beacon_module"); ok {
			module = m
		}
	case []any: // as in Salt, only the first dictionary is looked at
		if len(given) > 0 {
			if first, ok := given[0].(*data.Map); ok && first.Has("beacon_module") {
				module = first.Value("beacon_module")
			}
		}
	}
	name := data.Str(module)
	if !e.o.Functions.Has(name + ".validate") {
		return data.NewMap("complete", true, "vcomment", "Beacon "+name+
			" does not have a validate function, skipping validation.", "valid", true)
	}
	valid, comment, err := e.validate(ctx, name, given)
	if err != nil {
		comment = err.Error()
	}
	return data.NewMap("complete", true, "vcomment", comment, "valid", valid)
}
