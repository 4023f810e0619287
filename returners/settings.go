package returners

import (
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Source looks up an option by its whole name, as Salt's config.option does.
type Source func(name string) (value any, ok bool)

// EnvSource looks into options, grains, pillar and the master's options in the pillar, in this order.
func EnvSource(env *loader.Env) Source {
	return func(name string) (any, bool) {
		master, _ := env.PillarNow().Value("master").(*data.Map)
		for _, from := range []*data.Map{env.Opts, env.GrainsNow(), env.PillarNow(), master} {
			if v, ok := from.Get(name); ok {
				return v, true
			}
		}
		return nil, false
	}
}

// MapSource looks into options alone.
func MapSource(opts *data.Map) Source {
	return func(name string) (any, bool) { return opts.Get(name) }
}

// A Setting is one that a returner knows.
type Setting struct {
	Name    string // in ret_kwargs
	Key     string // in the configuration, behind the returner's name; "" means Name
	Default any    // nil for none
	Empty   bool   // an empty value is one, as a password that is none; Salt takes Default then
	Fixed   bool   // who gives an order must not choose it, as a file or the server that gets the password: ret_kwargs does not count
}

// Settings are those of one returner for one return.
type Settings struct{ values *data.Map }

// Read reads the settings of a returner (salt/returners/__init__.py, get_returner_options). Names are those below which
// they stand: `mysql.host: db1`, or a map `mysql: {host: db1}`. A return's ret_config puts a word before: with ret_config
// alternative, `alternative.mysql.host` counts, and where it is not set `mysql.host`. Its ret_kwargs win over all. What is
// empty, zero or false counts as not set, but for a setting with Empty. ret may be nil.
func (from Source) Read(ret *data.Map, known []Setting, names ...string) *Settings {
	s := &Settings{&data.Map{}}
	config := ""
	if v, ok := ret.Get("ret_config"); ok {
		config = data.Str(v)
	}
	kwargs, _ := ret.Value("ret_kwargs").(*data.Map)
	for _, k := range known {
		v, set := from.find(k, config, names)
		if !set {
			v = k.Default
		}
		if asked, ok := kwargs.Get(k.Name); ok && !k.Fixed {
			v = asked
		}
		if v != nil {
			s.values.Set(k.Name, v)
		}
	}
	return s
}

func (from Source) find(k Setting, config string, names []string) (v any, set bool) {
	key := k.Key
	if key == "" {
		key = k.Name
	}
	var below []string
	if config != "" {
		for _, name := range names {
			below = append(below, config+"."+name)
		}
	}
	for _, name := range append(below, names...) {
		if v, set = from.below(name, key); set && (k.Empty || data.Truth(v)) {
			return v, true
		}
	}
	return nil, false
}

// below returns a setting in the map of a name, or else of the name with a dot.
func (from Source) below(name, key string) (v any, set bool) {
	all, _ := from(name)
	if m, ok := all.(*data.Map); ok {
		if v, set = m.Get(key); set {
			return v, true
		}
	}
	return from(name + "." + key)
}

// Value returns a setting, nil when it is not set.
func (s *Settings) Value(name string) any { return s.values.Value(name) }

// Text returns a setting as text, "" when it is not set. The text None counts as not set.
func (s *Settings) Text(name string) string {
	v := s.values.Value(name)
	if v == nil || data.Str(v) == "None" || data.Str(v) == "none" {
		return ""
	}
	return data.Str(v)
}

// Int returns a setting as a whole number.
func (s *Settings) Int(name string) (int, error) {
	n, err := loader.Int(s.values.Value(name))
	if err != nil {
		return 0, fmt.Errorf("%s: %s is no whole number", name, data.Repr(s.values.Value(name)))
	}
	return int(n), nil
}

// Float returns a setting as a number.
func (s *Settings) Float(name string) (float64, error) {
	f, err := loader.Float(s.values.Value(name))
	if err != nil {
		return 0, fmt.Errorf("%s: %s is no number", name, data.Repr(s.values.Value(name)))
	}
	return f, nil
}

// Bool returns Python's truth of a setting.
func (s *Settings) Bool(name string) bool { return data.Truth(s.values.Value(name)) }
