package docker

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
)

type compareArgs struct {
	First  string
	Second string
	Ignore any `default:"None"`
}

// compareContainers returns in what the configurations of two containers differ.
//
// ignore
//
//	Keys that may differ, as a list or with commas.
//
// CLI Example:
//
//	salt myminion docker.compare_containers foo bar
//	salt myminion docker.compare_containers foo bar ignore=Hostname
func (m *module) compareContainers(ctx context.Context, a compareArgs) (*data.Map, error) {
	first, err := m.container(ctx, a.First)
	if err != nil {
		return nil, err
	}
	second, err := m.container(ctx, a.Second)
	if err != nil {
		return nil, err
	}
	ignore := words(a.Ignore)
	diff := data.NewMap()
	for _, part := range []string{"Config", "HostConfig"} {
		one, other := dict(first.Value(part)), dict(second.Value(part))
		found := data.NewMap()
		for _, key := range union(one, other) {
			if slices.Contains(ignore, key) {
				continue
			}
			before, after := one.Value(key), other.Value(key)
			if key == "Image" && before != nil && after != nil {
				if before, after, err = m.imageIDs(ctx, before, after); err != nil {
					return nil, err
				}
			}
			if before != nil && after != nil {
				before, after = settled(key, before, a.First), settled(key, after, a.Second)
			}
			if differ(key, before, after) {
				found.Set(key, data.NewMap("old", before, "new", after))
			}
		}
		if found.Len() > 0 {
			diff.Set(part, found)
		}
	}
	return diff, nil
}

// union returns the keys of two dictionaries.
func union(a, b *data.Map) []string {
	keys := data.Texts(a.Keys())
	for _, key := range data.Texts(b.Keys()) {
		if !a.Has(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (m *module) imageIDs(ctx context.Context, a, b any) (first, second any, err error) {
	one, err := m.inspectImage(ctx, nameArgs{data.Str(a)})
	if err != nil {
		return nil, nil, err
	}
	other, err := m.inspectImage(ctx, nameArgs{data.Str(b)})
	if err != nil {
		return nil, nil, err
	}
	return one.Value("Id"), other.Value("Id"), nil
}

// settled returns a value without the order and the names that do not count.
func settled(key string, v any, name string) any {
	all, ok := v.([]any)
	if !ok {
		return v
	}
	all = slices.Clone(all)
	switch key {
	case "Links":
		for i, link := range all {
			all[i] = strings.Replace(data.Str(link), "/"+name+"/", "/", 1)
		}
		sortTexts(all)
	case "Env":
		sortTexts(all)
	case "Ulimits":
		slices.SortStableFunc(all, func(a, b any) int {
			x, y := dict(a), dict(b)
			if by := strings.Compare(x.Text("Name"), y.Text("Name")); by != 0 {
				return by
			}
			return strings.Compare(data.Str(x.Value("Hard")), data.Str(y.Value("Hard")))
		})
	}
	return all
}

func sortTexts(all []any) {
	slices.SortFunc(all, func(a, b any) int { return strings.Compare(data.Str(a), data.Str(b)) })
}

func differ(key string, before, after any) bool {
	if key == "OomKillDisable" || before == nil || after == nil {
		return data.Truth(before) != data.Truth(after)
	}
	return !data.Equal(before, after)
}

type compareNetworksArgs struct {
	First  any
	Second any
	Ignore any `default:"'Name,Id,Created,Containers'"`
}

// compareNetworks returns in what two networks differ.
//
// first, second
//
//	Names or IDs, or what docker.inspect_network returned.
//
// ignore
//
//	Keys that may differ.
//
// CLI Example:
//
//	salt myminion docker.compare_network foo bar
func (m *module) compareNetworks(ctx context.Context, a compareNetworksArgs) (*data.Map, error) {
	first, err := m.networkOf(ctx, a.First)
	if err != nil {
		return nil, err
	}
	second, err := m.networkOf(ctx, a.Second)
	if err != nil {
		return nil, err
	}
	ignore := words(a.Ignore)
	diff := data.NewMap()
	for _, key := range union(first, second) {
		before, after := first.Value(key), second.Value(key)
		if slices.Contains(ignore, key) || !data.Truth(before) && !data.Truth(after) {
			continue
		}
		var found *data.Map
		switch {
		case key == "IPAM" && first.Has(key):
			found = compareIPAM(dict(before), dict(after))
		case key == "Options" && first.Has(key):
			found = compareOptions(dict(before), dict(after))
		case !data.Equal(before, after):
			found = data.NewMap("old", before, "new", after)
		}
		if found.Len() > 0 {
			diff.Set(key, found)
		}
	}
	return diff, nil
}

func (m *module) networkOf(ctx context.Context, v any) (*data.Map, error) {
	if n, ok := v.(*data.Map); ok {
		return n, nil
	}
	return m.network(ctx, data.Str(v))
}

func compareIPAM(first, second *data.Map) *data.Map {
	diff := data.NewMap()
	for key, before := range first.All() {
		after := second.Value(key)
		if !data.Truth(before) && !data.Truth(after) {
			continue
		}
		if key == "Config" {
			before, after = sortedPools(before), sortedPools(after)
		}
		if !data.Equal(before, after) {
			diff.Set(key, data.NewMap("old", before, "new", after))
		}
	}
	return diff
}

// sortedPools returns pools in an order that their contents decide.
func sortedPools(v any) any {
	all := slices.Clone(list(v))
	if all == nil {
		all = []any{}
	}
	slices.SortStableFunc(all, func(a, b any) int {
		x, y := dict(a), dict(b)
		for i := range min(x.Len(), y.Len()) {
			k, _ := x.At(i)
			l, _ := y.At(i)
			if by := strings.Compare(data.Str(k), data.Str(l)); by != 0 {
				return by
			}
		}
		if x.Len() != y.Len() {
			return x.Len() - y.Len()
		}
		for i := range x.Len() {
			_, v := x.At(i)
			_, w := y.At(i)
			if by := strings.Compare(data.Str(v), data.Str(w)); by != 0 {
				return by
			}
		}
		return 0
	})
	return all
}

// compareOptions compares the options of drivers. The name of a bridge is chosen by the engine.
func compareOptions(first, second *data.Map) *data.Map {
	diff := data.NewMap()
	for key, before := range first.All() {
		if after := second.Value(key); key != "com.docker.network.bridge.name" && !data.Equal(before, after) {
			diff.Set(key, data.NewMap("old", before, "new", after))
		}
	}
	return diff
}

type compareContainerNetworksArgs struct {
	First  any
	Second any
}

// compareContainerNetworks returns in what the connections of two containers to networks differ.
//
// first, second
//
//	Names or IDs, or what docker.inspect_container returned.
//
// CLI Example:
//
//	salt myminion docker.compare_container_networks foo bar
func (m *module) compareContainerNetworks(ctx context.Context, a compareContainerNetworksArgs) (*data.Map, error) {
	keys, err := calls.Option[*data.Map](ctx, m.env, "docker.compare_container_networks")
	if err != nil {
		return nil, err
	}
	first, err := m.side(ctx, a.First)
	if err != nil {
		return nil, err
	}
	second, err := m.side(ctx, a.Second)
	if err != nil {
		return nil, err
	}
	for _, name := range union(first.nets, second.nets) {
		n, err := m.network(ctx, name)
		if err != nil {
			m.env.Log.WithError(err).Warnf("docker: inspect network %s", name)
			continue
		}
		first.drop(name, dict(n.Value("Containers")))
		second.drop(name, dict(n.Value("Containers")))
	}
	c := comparison{auto: data.TextsOf(keys.Value("automatic")), static: data.TextsOf(keys.Value("static")),
		first: first, second: second, diff: data.NewMap()}
	for _, name := range union(first.nets, second.nets) {
		c.compare(name)
	}
	return c.diff, nil
}

// A side is one of two containers that are compared.
type side struct {
	info, nets *data.Map
	running    bool
}

func (m *module) side(ctx context.Context, v any) (side, error) {
	info, ok := v.(*data.Map)
	if !ok {
		var err error
		if info, err = m.container(ctx, data.Str(v)); err != nil {
			return side{}, err
		}
	}
	now, err := m.state(ctx, nameArgs{info.Text("Id")})
	nets := dict(dict(info.Value("NetworkSettings")).Value("Networks"))
	return side{info, nets.Clone(), now == "running"}, err
}

// drop forgets a network that a running container is configured for but not connected to.
func (s side) drop(name string, connected *data.Map) {
	if s.running && !connected.Has(s.info.Value("Id")) {
		s.nets.Delete(name)
	}
}

// aliases returns a container's names in a network without those that the engine gives it.
func (s side) aliases(v any) any {
	own := []any{dict(s.info.Value("Config")).Value("Hostname"), short(s.info.Value("Id"))}
	left := without(list(v), own)
	if len(left) == 0 {
		return nil
	}
	return left
}

type comparison struct {
	auto, static  []string
	first, second side
	diff          *data.Map
}

func (c comparison) note(net, key string, before, after any) {
	found := dict(c.diff.Value(net))
	found.Set(key, data.NewMap("old", before, "new", after))
	c.diff.Set(net, found)
}

// compare compares the connection to one network.
func (c comparison) compare(net string) {
	one, inFirst := c.first.nets.Get(net)
	other, inSecond := c.second.nets.Get(net)
	for _, key := range c.static {
		before, after := sortedCopy(dict(one).Value(key)), sortedCopy(dict(other).Value(key))
		if key == "IPAMConfig" {
			c.addresses(net, inFirst, inSecond, before, after)
			continue
		}
		if key == "Aliases" {
			before, after = c.first.aliases(before), c.second.aliases(after)
		}
		if (data.Truth(before) || data.Truth(after)) && !data.Equal(before, after) {
			c.note(net, key, before, after)
		}
	}
}

// sortedCopy returns a list in order, and other values as they are.
func sortedCopy(v any) any {
	all, ok := v.([]any)
	if !ok {
		return v
	}
	all = slices.Clone(all)
	sortTexts(all)
	return all
}

// addresses compares how a container gets its addresses in a network: by the engine or fixed.
func (c comparison) addresses(net string, inFirst, inSecond bool, before, after any) {
	wasFixed, isFixed := inFirst && data.Truth(before), inSecond && data.Truth(after)
	switch {
	case inFirst && !wasFixed && (isFixed || !inSecond):
		for _, key := range c.auto {
			if v := dict(c.first.nets.Value(net)).Value(key); data.Truth(v) {
				c.note(net, key, v, nil)
			}
		}
		if isFixed {
			c.note(net, "IPAMConfig", nil, after)
		}
		if !c.named(net) {
			c.note(net, "IPConfiguration", "automatic", pick(isFixed, "static", "not connected"))
		}
	case inSecond && !isFixed && (wasFixed || !inFirst):
		for _, key := range c.auto {
			if v := dict(c.second.nets.Value(net)).Value(key); data.Truth(v) {
				c.note(net, key, nil, v)
			}
		}
		if !c.named(net) {
			c.note(net, "IPConfiguration", pick(wasFixed, "static", "not connected"), "automatic")
		}
		if wasFixed {
			c.note(net, "IPAMConfig", before, nil)
		}
	case !data.Equal(before, after):
		c.note(net, "IPAMConfig", before, after)
	}
}

// named reports whether an address that the engine gave is among the differences.
func (c comparison) named(net string) bool {
	found := dict(c.diff.Value(net))
	return slices.ContainsFunc(c.auto, func(key string) bool { return found.Has(key) })
}

func pick(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
