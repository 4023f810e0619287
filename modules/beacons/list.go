package beacons

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/yaml"
)

type listArgs struct {
	ReturnYAML    bool      `name:"return_yaml" default:"True"`
	IncludePillar bool      `default:"True"`
	IncludeOpts   bool      `default:"True"`
	Kwargs        *data.Map `kwargs:"kwargs"`
}

// list shows the configured beacons of the minion as YAML.
//
// return_yaml : True
//
//	False returns a dictionary.
//
// include_pillar : True
//
//	Show the beacons of the pillar.
//
// include_opts : True
//
//	Show the beacons of the minion's options.
//
// CLI Example:
//
//	salt '*' beacons.list
//	salt '*' beacons.list return_yaml=False include_pillar=False
func (m *module) list(ctx context.Context, a listArgs) (any, error) {
	var beacons any
	if all := m.configured(ctx, a.Kwargs, a.IncludePillar, a.IncludeOpts); all != nil {
		beacons = all
	}
	if !a.ReturnYAML {
		return beacons, nil
	}
	return asYAML(beacons)
}

// configured returns the beacons of the pillar, of the options, or of both; nil if no minion answers.
func (m *module) configured(ctx context.Context, kwargs *data.Map, pillar, opts bool) *data.Map {
	body := m.ask(ctx, kwargs, "s_list_complete", "func", "list", "include_pillar", pillar,
		"include_opts", opts)
	beacons, _ := body.Value("beacons").(*data.Map)
	return beacons
}

// all returns all configured beacons; nil if no minion answers.
func (m *module) all(ctx context.Context, kwargs *data.Map) *data.Map {
	return m.configured(ctx, kwargs, true, true)
}

// asYAML returns beacons as YAML below the key beacons.
func asYAML(beacons any) (any, error) {
	out, err := yaml.Dump(data.NewMap("beacons", beacons),
		yaml.DumpOptions{Flow: yaml.Block, SortKeys: true, Copies: true})
	return string(out), err
}

type availableArgs struct {
	ReturnYAML bool      `name:"return_yaml" default:"True"`
	Kwargs     *data.Map `kwargs:"kwargs"`
}

// listAvailable shows the names of the beacons that work on the minion, as YAML.
//
// return_yaml : True
//
//	False returns a list.
//
// CLI Example:
//
//	salt '*' beacons.list_available
func (m *module) listAvailable(ctx context.Context, a availableArgs) (any, error) {
	names := m.available(ctx, a.Kwargs)
	switch {
	case len(names) == 0:
		return data.NewMap("beacons", data.NewMap()), nil
	case !a.ReturnYAML:
		return names, nil
	}
	return asYAML(names)
}

// available returns the names of the beacons that work on the minion.
func (m *module) available(ctx context.Context, kwargs *data.Map) []any {
	body := m.ask(ctx, kwargs, "s_list_available_complete", "func", "list_available")
	return data.ListOf(body.Value("beacons"))
}

// isAvailable reports whether a beacon works on the minion.
func (m *module) isAvailable(ctx context.Context, kwargs *data.Map, name any) bool {
	return slices.Contains(data.Texts(m.available(ctx, kwargs)), data.Str(name))
}
