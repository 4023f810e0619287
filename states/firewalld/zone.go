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
		Say: func(o change.Outcome[zone]) any {
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
		{"icmp_types", a.BlockIcmp, data.Truth(a.PruneBlockIcmp), "list_icmp_block", "block_icmp",
			"allow_icmp", inZone},
		{"ports", a.Ports, data.Truth(a.PrunePorts), "list_ports", "add_port", "remove_port", inZone},
		{"port_fwd", forwarded, data.Truth(a.PrunePortFwd), "list_port_fwd", "add_port_fwd",
			"remove_port_fwd", func(v any) []any {
				f := v.(*data.Map)
				return []any{a.Name, f.Value("Source port"), f.Value("Destination port"),
					f.Value("Protocol"), f.Value("Destination address"), true}
			}},
		{"services", a.Services, data.Truth(a.PruneServices), "list_services", "add_service",
			"remove_service", func(v any) []any { return []any{v, a.Name, true} }},
		{"interfaces", a.Interfaces, data.Truth(a.PruneInterfaces), "get_interfaces", "add_interface",
			"remove_interface", inZone},
		{"sources", a.Sources, data.Truth(a.PruneSources), "get_sources", "add_source",
			"remove_source", inZone},
		{"rich_rules", a.RichRules, data.Truth(a.PruneRichRules), "get_rich_rules", "add_rich_rule",
			"remove_rich_rule", inZone},
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
			for _, unknown := range without(p.wanted, types) {
				m.env.Log.Errorf("%s is an invalid ICMP type", data.Str(unknown))
				parts[i].wanted = without(parts[i].wanted, []any{unknown})
			}
		}
		if now.lists[i] = []any{}; now.there {
			if now.lists[i], err = m.list(ctx, p.list, a.Name, true); err != nil {
				return now, err
			}
			if p.key == "port_fwd" {
				now.lists[i] = ordered(now.lists[i])
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
	for i, p := range parts {
		if err == nil {
			err = m.bring(ctx, p, now.lists[i])
		}
	}
	return err
}
