package firewalld

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/state/change"
)

type presentArgs struct {
	Name            string
	BlockIcmp       []any `default:"None"`
	PruneBlockIcmp  any   `default:"False"`
	Default         any   `default:"None"`
	Masquerade      any   `default:"False"`
	Ports           []any `default:"None"`
	PrunePorts      any   `default:"False"`
	PortFwd         []any `default:"None"`
	PrunePortFwd    any   `default:"False"`
	Services        []any `default:"None"`
	PruneServices   any   `default:"False"`
	Interfaces      []any `default:"None"`
	PruneInterfaces any   `default:"False"`
	Sources         []any `default:"None"`
	PruneSources    any   `default:"False"`
	RichRules       []any `default:"None"`
	PruneRichRules  any   `default:"False"`
}

// A zone is the permanent configuration of a zone, as far as it is managed.
type zone struct {
	zones      []any // the names of all zones
	there      bool
	fallback   any // the default zone
	masquerade bool
	lists      [][]any
}

// present creates a zone, and sets what it allows in the permanent configuration.
//
// block_icmp, ports, port_fwd, services, interfaces, sources, rich_rules
//
//	Lists of ICMP types that are blocked, ports such as 443/tcp, forwarded ports such as
//	22:2222:tcp:10.0.0.1, services, interfaces, networks, and rules in the rich language.
//
// prune_block_icmp, prune_ports and so on
//
//	True: remove the values that are not in the list.
//
// default
//
//	True: the zone is the default zone.
//
// masquerade
//
//	Whether the zone masquerades.
//
//	public:
//	  firewalld.present:
//	    - block_icmp:
//	      - echo-reply
//	    - default: False
//	    - masquerade: True
//	    - ports:
//	      - 22/tcp
func (m *module) present(ctx context.Context, a presentArgs) (change.Result, error) {
	parts, err := a.parts()
	if err != nil {
		return change.Result{}, err
	}
	return change.Thing[zone]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (zone, error) { return m.look(ctx, a, parts) },
		Wants: func(now zone) *data.Map { return a.differences(parts, now) },
		Apply: func(ctx context.Context, now zone) error {
			return m.reload(ctx, m.configure(ctx, a, parts, now))
		},
		Changed: func(before, after zone) *data.Map { return a.made(parts, before, after) },
		Say: func(o change.Outcome[zone]) any {
			if o.Stage == change.StageDone && o.Changes.Len() == 0 {
				return "'" + a.Name + "' is already in the desired state."
			}
			if o.Stage != change.StageWould {
				return nil
			}
			text, err := nested(o.Changes)
			if err != nil {
				return nil
			}
			return "Configuration for '" + a.Name + "' will change:\n" + text
		},
		Silent: true,
		Texts: change.Texts{
			Same:  "'" + a.Name + "' is already in the desired state.",
			Would: "Configuration for '" + a.Name + "' will change:",
			Done:  "'" + a.Name + "' was configured.",
		},
	}.Ensure(ctx)
}

// nested returns changes in the form of the outputter nested.
func nested(changes *data.Map) (string, error) {
	outputter, err := output.New("nested", output.Options{Indent: output.NoIndent{}})
	if err != nil {
		return "", err
	}
	text, err := outputter.Format(changes)
	return strings.TrimRight(text, "\n"), err
}

// parts returns the lists that are managed: those with values, or to be pruned.
func (a presentArgs) parts() ([]part, error) {
	inZone := func(v any) []any { return []any{a.Name, v, true} }
	forwarded, err := forwards(a.PortFwd)
	if err != nil {
		return nil, err
	}
	all := []part{
		{key: "icmp_types", wanted: a.BlockIcmp, prune: data.Truth(a.PruneBlockIcmp), covers: holds,
			list: "list_icmp_block", add: "block_icmp", del: "allow_icmp", args: inZone},
		{key: "ports", wanted: a.Ports, prune: data.Truth(a.PrunePorts), covers: holdsPort,
			list: "list_ports", add: "add_port", del: "remove_port", args: inZone},
		{key: "port_fwd", wanted: forwarded, prune: data.Truth(a.PrunePortFwd), covers: holds,
			list: "list_port_fwd", add: "add_port_fwd", del: "remove_port_fwd",
			args: func(v any) []any {
				f := v.(*data.Map)
				return []any{a.Name, f.Value("Source port"), f.Value("Destination port"),
					f.Value("Protocol"), f.Value("Destination address"), true}
			}},
		{key: "services", wanted: a.Services, prune: data.Truth(a.PruneServices), covers: holds,
			list: "list_services", add: "add_service", del: "remove_service",
			args: func(v any) []any { return []any{v, a.Name, true} }},
		{key: "interfaces", wanted: a.Interfaces, prune: data.Truth(a.PruneInterfaces), covers: holds,
			list: "get_interfaces", add: "add_interface", del: "remove_interface", args: inZone},
		{key: "sources", wanted: a.Sources, prune: data.Truth(a.PruneSources), covers: holdsSource,
			list: "get_sources", add: "add_source", del: "remove_source", args: inZone},
		{key: "rich_rules", wanted: a.RichRules, prune: data.Truth(a.PruneRichRules), covers: holdsRule,
			list: "get_rich_rules", add: "add_rich_rule", del: "remove_rich_rule", args: inZone},
	}
	return slices.DeleteFunc(all, func(p part) bool { return len(p.wanted) == 0 && !p.prune }), nil
}

// forwards parses forwarded ports such as 22:2222:tcp or 22:2222:tcp:10.0.0.1.
func forwards(list []any) ([]any, error) {
	all := []any{}
	for _, v := range list {
		words := strings.SplitN(data.Str(v), ":", 4)
		if len(words) < 3 {
			return nil, loader.Exception("ValueError", "not enough values to unpack (expected 3, got %d)",
				len(words))
		}
		all = append(all, data.NewMap("Source port", words[0], "Destination port", words[1],
			"Protocol", words[2], "Destination address", strings.Join(words[3:], "")))
	}
	return all, nil
}

// ordered returns forwarded ports with their parts in the order of forwards.
func ordered(list []any) []any {
	all := make([]any, len(list))
	for i, v := range list {
		f, _ := v.(*data.Map)
		all[i] = data.NewMap()
		for _, key := range []string{"Source port", "Destination port", "Protocol", "Destination address"} {
			all[i].(*data.Map).Set(key, f.Value(key))
		}
	}
	return all
}

// look reads the zone. One that does not exist has nothing.
func (m *module) look(ctx context.Context, a presentArgs, parts []part) (now zone, err error) {
	if now.zones, err = m.list(ctx, "get_zones", true); err != nil {
		return now, err
	}
	now.there, now.lists = slices.Contains(now.zones, any(a.Name)), make([][]any, len(parts))
	for i, p := range parts {
		if p.key == "icmp_types" && len(p.wanted) > 0 {
			types, err := m.list(ctx, "get_icmp_types", true)
			if err != nil {
				return now, err
			}
			for _, unknown := range p.without(p.wanted, types) {
				m.env.Log.Errorf("%s is an invalid ICMP type", data.Str(unknown))
				parts[i].wanted = p.without(parts[i].wanted, []any{unknown})
			}
		}
		if now.lists[i] = []any{}; now.there {
			if now.lists[i], err = m.read(ctx, p, a.Name, true); err != nil {
				return now, err
			}
		}
	}
	if data.Truth(a.Default) {
		if now.fallback, err = m.call(ctx, "default_zone"); err != nil {
			return now, err
		}
	}
	if now.there {
		var is any
		is, err = m.call(ctx, "get_masquerade", a.Name, true)
		now.masquerade = is == true
	}
	return now, err
}

// differences returns the changes that the zone needs.
func (a presentArgs) differences(parts []part, now zone) *data.Map {
	changes := data.NewMap()
	if !now.there {
		changes.Set(a.Name, change.OldNew(now.zones, a.Name))
	}
	lists := func(icmp bool) {
		for i, p := range parts {
			if (p.key == "icmp_types") == icmp && p.differs(now.lists[i]) {
				changes.Set(p.key, change.OldNew(now.lists[i], p.desired(now.lists[i])))
			}
		}
	}
	lists(true)
	if data.Truth(a.Default) && now.fallback != a.Name {
		changes.Set("default", change.OldNew(now.fallback, a.Name))
	}
	switch wanted := data.Truth(a.Masquerade); {
	case wanted && !now.masquerade:
		changes.Set("masquerade", change.OldNew("", "Masquerading successfully set."))
	case !wanted && now.masquerade:
		changes.Set("masquerade", change.OldNew("", "Masquerading successfully disabled."))
	}
	lists(false)
	return changes
}

// made returns the changes that were made. A list that has the same values as before is none.
func (a presentArgs) made(parts []part, before, after zone) *data.Map {
	left, undone := a.differences(parts, after), slices.Clone(parts)
	for i := range undone {
		undone[i].done = false
	}
	changes := a.differences(undone, before)
	for i, p := range parts {
		if !moved(before.lists[i], after.lists[i]) {
			changes.Delete(p.key)
		}
		left.Delete(p.key)
	}
	for key := range left.All() {
		changes.Delete(key)
	}
	return changes
}

// configure makes the changes.
func (m *module) configure(ctx context.Context, a presentArgs, parts []part, now zone) error {
	var err error
	act := func(needed bool, fun string, args ...any) {
		if needed && err == nil {
			_, err = m.call(ctx, fun, args...)
		}
	}
	act(!now.there, "new_zone", a.Name)
	act(data.Truth(a.Default) && now.fallback != a.Name, "set_default_zone", a.Name)
	act(data.Truth(a.Masquerade) && !now.masquerade, "add_masquerade", a.Name, true)
	act(!data.Truth(a.Masquerade) && now.masquerade, "remove_masquerade", a.Name, true)
	for i := range parts {
		if err == nil {
			err = m.bring(ctx, &parts[i], now.lists[i], a.Name, true)
		}
	}
	return err
}
