// Package match is Salt's module match: it checks whether targets match this minion
// (salt/modules/match.py).
//
// Each kind of target has a function. For an invalid target it returns False and logs the error.
// Users' own matchers replace those of Brine (package loader/matchers).
// Some functions take minion_id and match another ID, but with the grains and the pillar of this
// minion.
//
// Differences from Salt: match.data works (in Salt it is always False), and so does tgt_type=list
// in match.filter_by and match.search_by. These two ignore minion_id for the kinds that do not
// accept one. match.filter_by does not change the dictionary passed to it.
package match

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/loader/matchers"
	"github.com/brineproject/brine/match"
)

// Plugin returns the module match.
func Plugin() loader.Plugin { return loader.Plugin{Name: "match", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("compound", m.compound),
		loader.F("ipcidr", m.ipcidr),
		loader.F("pillar_pcre", m.pillarPcre),
		loader.F("pillar", m.pillar),
		loader.F("data", m.data),
		loader.F("grain_pcre", m.grainPcre),
		loader.F("grain", m.grain),
		loader.F("list", m.list).Def("list_"),
		loader.F("pcre", m.pcre),
		loader.F("glob", m.glob),
		loader.F("filter_by", m.filterBy),
		loader.F("search_by", m.searchBy),
		loader.F("ifelse", m.ifelse),
	}}, nil
}

// A question is a target to match against a minion.
type question struct {
	tgt   any
	kind  string
	delim string
	id    any // of another minion; nil for this one
}

// matches reports whether the target matches.
func (m *module) matches(ctx context.Context, q question) bool {
	id := m.env.Opts.Text("id")
	if data.Truth(q.id) {
		id = data.Str(q.id)
	}
	groups, _ := m.env.Option("nodegroups").(*data.Map)
	e, err := match.Compile(q.tgt, q.kind, q.delim,
		match.Options{Nodegroups: groups, Own: matchers.Of(ctx, m.env)})
	named := false
	if err == nil {
		named, err = e.Check(&match.Minion{ID: id, Grains: m.env.GrainsNow(),
			Pillar: m.env.PillarNow()})
	}
	if err != nil {
		m.env.Log.WithError(err).Errorf("Unable to evaluate match.%s %s", q.kind, data.Str(q.tgt))
		return false
	}
	return named
}

type idArgs struct {
	Tgt      any
	MinionID any `default:"None"`
}

type targetArgs struct{ Tgt any }

type pairArgs struct {
	Tgt       any
	Delimiter string `default:"':'"`
}

// compound returns whether a compound target matches the minion.
//
// minion_id
//
//	The ID to match instead of the minion's own.
//
// CLI Example:
//
//	salt '*' match.compound 'L@cheese,foo and *'
func (m *module) compound(ctx context.Context, a idArgs) (any, error) {
	return m.matches(ctx, question{tgt: a.Tgt, kind: "compound", id: a.MinionID}), nil
}

// ipcidr returns whether the minion has an address, or one in a network.
//
// CLI Example:
//
//	salt '*' match.ipcidr '192.168.44.0/24'
func (m *module) ipcidr(ctx context.Context, a targetArgs) (any, error) {
	return m.matches(ctx, question{tgt: a.Tgt, kind: "ipcidr"}), nil
}

// pillarPcre returns whether a value of the minion's pillar matches a regular expression.
//
// delimiter
//
//	Separates the keys, and the expression from them. Default: a colon.
//
// CLI Example:
//
//	salt '*' match.pillar_pcre 'cheese:(swiss|american)'
//	salt '*' match.pillar_pcre 'clone_url|https://github\.com/.*\.git' delimiter='|'
func (m *module) pillarPcre(ctx context.Context, a pairArgs) (any, error) {
	return m.matches(ctx, question{tgt: a.Tgt, kind: "pillar_pcre", delim: a.Delimiter}), nil
}

// pillar returns whether a value of the minion's pillar matches a glob.
//
// delimiter
//
//	Separates the keys, and the glob from them. Default: a colon.
//
// CLI Example:
//
//	salt '*' match.pillar 'cheese:foo'
//	salt '*' match.pillar 'clone_url|https://github.com/saltstack/salt.git' delimiter='|'
func (m *module) pillar(ctx context.Context, a pairArgs) (any, error) {
	return m.matches(ctx, question{tgt: a.Tgt, kind: "pillar", delim: a.Delimiter}), nil
}

// grainPcre returns whether a grain of the minion matches a regular expression.
//
// delimiter
//
//	Separates the keys, and the expression from them. Default: a colon.
//
// CLI Example:
//
//	salt '*' match.grain_pcre 'os:Fedo.*'
//	salt '*' match.grain_pcre 'ipv6|2001:.*' delimiter='|'
func (m *module) grainPcre(ctx context.Context, a pairArgs) (any, error) {
	return m.matches(ctx, question{tgt: a.Tgt, kind: "grain_pcre", delim: a.Delimiter}), nil
}

// grain returns whether a grain of the minion matches a glob.
//
// delimiter
//
//	Separates the keys, and the glob from them. Default: a colon.
//
// CLI Example:
//
//	salt '*' match.grain 'os:Ubuntu'
//	salt '*' match.grain 'ipv6|2001:db8::ff00:42:8329' delimiter='|'
func (m *module) grain(ctx context.Context, a pairArgs) (any, error) {
	return m.matches(ctx, question{tgt: a.Tgt, kind: "grain", delim: a.Delimiter}), nil
}

// list returns whether the minion is in a list of IDs, or in a string of IDs separated by commas.
//
// minion_id
//
//	The ID to match instead of the minion's own.
//
// CLI Example:
//
//	salt '*' match.list 'server1,server2'
func (m *module) list(ctx context.Context, a idArgs) (any, error) {
	return m.matches(ctx, question{tgt: a.Tgt, kind: "list", id: a.MinionID}), nil
}

// pcre returns whether the minion's ID matches a regular expression, anchored at its beginning.
//
// minion_id
//
//	The ID to match instead of the minion's own.
//
// CLI Example:
//
//	salt '*' match.pcre '.*'
func (m *module) pcre(ctx context.Context, a idArgs) (any, error) {
	return m.matches(ctx, question{tgt: a.Tgt, kind: "pcre", id: a.MinionID}), nil
}

// glob returns whether the minion's ID matches a glob.
//
// minion_id
//
//	The ID to match instead of the minion's own.
//
// CLI Example:
//
//	salt '*' match.glob '*'
func (m *module) glob(ctx context.Context, a idArgs) (any, error) {
	return m.matches(ctx, question{tgt: a.Tgt, kind: "glob", id: a.MinionID}), nil
}
