package returners

import (
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Source looks up an option by its full name, as Salt's config.option does.
type Source func(name string) (value any, ok bool)

// EnvSource searches options, grains, pillar and the master's options in the pillar, in this order.
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

// MapSource searches options only.
func MapSource(opts *data.Map) Source {
	return func(name string) (any, bool) { return opts.Get(name) }
}

// A Setting describes a setting of a returner.
type Setting struct {
	Name    string // in ret_kwargs
	Key     string // in the configuration, after the returner's name; "" means Name
	Default any    // nil for none
	Empty   bool   // empty values are valid, such as no password; Salt uses Default then
	// the submitter of a job must not choose it, for example a file or the server that receives the
	// password: ret_kwargs is ignored
	Fixed bool
}

// Settings holds the settings of one returner for one return.
type Settings struct{ values *data.Map }

// Read reads the settings of a returner (salt/returners/__init__.py, get_returner_options). names
// are the prefixes of the options: `mysql.host: db1`, or a map `mysql: {host: db1}`. A return's
// ret_config adds a prefix: with ret_config alternative, `alternative.mysql.host` is used, and if
// that is not set `mysql.host`. Its ret_kwargs take precedence. Empty, zero or false values count
// as not set, except for a setting with Empty. ret may be nil.
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

// below returns a setting from the map name, or else the option name.key.
func (from Source) below(name, key string) (v any, set bool) {
	all, _ := from(name)
	if m, ok := all.(*data.Map); ok {
		if v, set = m.Get(key); set {
			return v, true
		}
	}
	return from(name + "." + key)
}

// Value returns a setting, nil if it is not set.
func (s *Settings) Value(name string) any { return s.values.Value(name) }

// Text returns a setting as text, "" if it is not set. The text None counts as not set.
func (s *Settings) Text(name string) string {
	v := s.values.Value(name)
	if v == nil || data.Str(v) == "None" || data.Str(v) == "none" {
		return ""
	}
	return data.Str(v)
}

// Int returns a setting as an integer.
func (s *Settings) Int(name string) (int, error) {
	n, err := loader.Int(s.values.Value(name))
	if err != nil {
		return 0, fmt.Errorf("%s: %s is not an integer", name, data.Repr(s.values.Value(name)))
	}
	return int(n), nil
}

// Float returns a setting as a number.
func (s *Settings) Float(name string) (float64, error) {
	f, err := loader.Float(s.values.Value(name))
	if err != nil {
		return 0, fmt.Errorf("%s: %s is not a number", name, data.Repr(s.values.Value(name)))
	}
	return f, nil
}

// Bool returns the truth value of a setting, by Python's rules.
func (s *Settings) Bool(name string) bool { return data.Truth(s.values.Value(name)) }
