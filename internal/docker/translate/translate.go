// Package translate converts the arguments of docker's functions and states to those of the API of Docker
// Engine (salt/utils/dockermod): short names and other forms that people write become one form.
//
// container.go has the arguments of containers, ports.go their ports, network.go those of networks, and
// values.go what they share. The values are what Salt calls translated; package spec makes request bodies
// of them.
package translate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Options say how to translate arguments.
type Options struct {
	Skip       any  // skip_translate: True, or names of arguments to leave alone
	Collisions bool // ignore_collisions: an argument and its alias may both be given
	AnyAddress bool // not validate_ip_addrs: addresses are not checked
}

// A call is what the translation of one argument may look at.
type call struct {
	anyAddress bool
	all        bool // nothing is translated
	skip       []string
}

func (c call) skips(names ...string) bool {
	return c.all || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(c.skip, name) })
}

// A translator knows the arguments of one kind of thing.
type translator struct {
	funcs   map[string]func(v any, c call) (any, error)
	aliases [][2]string // alias and name, in Salt's order
	merge   func(args *data.Map)
	finish  func(args *data.Map, c call, invalid *data.Map) error
}

// An invalid argument is reported by its name (Salt's SaltInvocationError).
type invalid string

func (e invalid) Error() string { return string(e) }

func invalidf(format string, args ...any) error { return invalid(fmt.Sprintf(format, args...)) }

// errOther marks a value that a translation does not know. It stays as it is (Python's AttributeError).
var errOther = errors.New("this value is left alone")

// Container translates the arguments of a container.
func Container(args *data.Map, o Options) (*data.Map, error) { return containers().translate(args, o) }

// Network translates the arguments of a network.
func Network(args *data.Map, o Options) (*data.Map, error) { return networks().translate(args, o) }

func (t translator) name(key string) string {
	for _, alias := range t.aliases {
		if alias[0] == key {
			return alias[1]
		}
	}
	return key
}

func (t translator) translate(given *data.Map, o Options) (*data.Map, error) {
	args := data.NewMap()
	for k, v := range given.All() {
		if name, ok := k.(string); ok && !strings.HasPrefix(name, "__") {
			args.Set(k, data.Clone(v))
		}
	}
	c, done := options(o)
	if done {
		return args, nil
	}
	bad := data.NewMap()
	err := t.each(args, c, bad)
	var collisions []any
	if err == nil {
		t.merge(args)
		collisions = t.rename(args)
		if err = t.finish(args, c, bad); errors.Is(err, errOther) {
			err = nil
		}
	}
	info := data.NewMap()
	if err != nil {
		info.Set("error_message", err.Error())
	}
	if bad.Len() > 0 {
		info.Set("invalid", bad)
	}
	if len(collisions) > 0 && !o.Collisions {
		info.Set("collisions", collisions)
	}
	if info.Len() > 0 {
		return nil, loader.ExecutionInfo("Failed to translate input", info)
	}
	return args, nil
}

// options returns what the translations see; done is true if there is nothing to translate.
func options(o Options) (c call, done bool) {
	c.anyAddress = o.AnyAddress
	switch skip := o.Skip.(type) {
	case bool:
		c.all = skip
	case string:
		c.skip = splitTrim(skip, ",", -1)
	case []any:
		c.skip = data.Texts(skip)
	}
	return c, c.all
}

// each translates the arguments one by one. bad gets the reasons of those that are refused.
func (t translator) each(args *data.Map, c call, bad *data.Map) error {
	for _, k := range args.Keys() {
		key := k.(string)
		name := t.name(key)
		if c.skips(name) {
			continue
		}
		v := args.Value(key)
		if dict, ok := Dictlist(v); ok && key != "ipam_pools" {
			v = dict
			args.Set(key, v)
		}
		convert := t.funcs[name]
		if convert == nil {
			continue
		}
		v, err := convert(v, c)
		refused, isInvalid := errors.AsType[invalid](err)
		switch {
		case errors.Is(err, errOther):
		case isInvalid:
			args.Delete(key)
			bad.Set(key, refused.Error())
		case err != nil:
			return err
		default:
			args.Set(key, v)
		}
	}
	return nil
}

// rename gives aliased arguments their names. It returns a text for each that is there under both.
func (t translator) rename(args *data.Map) []any {
	var collisions []any
	for _, alias := range t.aliases {
		v, ok := args.Get(alias[0])
		if !ok {
			continue
		}
		args.Delete(alias[0])
		if args.Has(alias[1]) {
			collisions = append(collisions,
				fmt.Sprintf("'%s' is an alias for '%s', they cannot both be used", t.alias(alias[1]), alias[1]))
			continue
		}
		args.Set(alias[1], v)
	}
	return collisions
}

// alias returns the last alias of a name, which is what Salt names.
func (t translator) alias(name string) string {
	for _, alias := range slices.Backward(t.aliases) {
		if alias[1] == name {
			return alias[0]
		}
	}
	return name
}

// Dictlist returns the dictionary that a list of dictionaries of one key each stands for.
func Dictlist(v any) (*data.Map, bool) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, false
	}
	all := data.NewMap()
	for _, item := range list {
		m, ok := item.(*data.Map)
		if !ok || m.Len() != 1 {
			return nil, false
		}
		all.Update(m)
	}
	return all, true
}
