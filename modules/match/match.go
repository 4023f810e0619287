// Package match is Salt's module match: it asks whether targets name this minion (salt/modules/match.py).
//
// Each kind of target has a function. It is false for a target that cannot be read, which is logged. Some take minion_id: then
// another id is asked for, with the grains and the pillar of this minion.
//
// What differs from Salt: match.data works, which in Salt is always false, and so does tgt_type=list in match.filter_by and
// match.search_by. There minion_id is left out for the kinds that do not take one. match.filter_by does not change the dictionary
// that it is given.
package match

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
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

// A question is whether a target names a minion.
type question struct {
	tgt   any
	kind  string
	delim string
	id    any // another minion's; nothing for this one
}

// named answers a question.
func (m *module) named(q question) bool {
	id := m.env.Opts.Text("id")
	if data.Truth(q.id) {
		id = data.Str(q.id)
	}
	groups, _ := m.env.Option("nodegroups").(*data.Map)
	e, err := match.Compile(q.tgt, q.kind, q.delim, match.Options{Nodegroups: groups})
	if err != nil {
		m.env.Log.WithError(err).Errorf("match.%s %s", q.kind, data.Str(q.tgt))
		return false
	}
	return e.Match(&match.Minion{ID: id, Grains: m.env.GrainsNow(), Pillar: m.env.PillarNow()})
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

// compound tells whether a compound target names the minion.
//
// minion_id
//
//	The id to ask for, in place of the minion's own.
//
// CLI Example:
//
//	salt '*' match.compound 'L@cheese,foo and *'
func (m *module) compound(_ context.Context, a idArgs) (any, error) {
	return m.named(question{tgt: a.Tgt, kind: "compound", id: a.MinionID}), nil
}

// ipcidr tells whether the minion has an address, or one in a network.
//
// CLI Example:
//
//	salt '*' match.ipcidr '192.168.44.0/24'
func (m *module) ipcidr(_ context.Context, a targetArgs) (any, error) {
	return m.named(question{tgt: a.Tgt, kind: "ipcidr"}), nil
}

// pillarPcre tells whether a value of the minion's pillar matches a regular expression.
//
// delimiter
//
//	What stands between keys, and between key and expression. Default: a colon.
//
// CLI Example:
//
//	salt '*' match.pillar_pcre 'cheese:(swiss|american)'
//	salt '*' match.pillar_pcre 'clone_url|https://github\.com/.*\.git' delimiter='|'
func (m *module) pillarPcre(_ context.Context, a pairArgs) (any, error) {
	return m.named(question{tgt: a.Tgt, kind: "pillar_pcre", delim: a.Delimiter}), nil
}

// pillar tells whether a value of the minion's pillar matches a glob.
//
// delimiter
//
//	What stands between keys, and between key and glob. Default: a colon.
//
// CLI Example:
//
//	salt '*' match.pillar 'cheese:foo'
//	salt '*' match.pillar 'clone_url|https://github.com/saltstack/salt.git' delimiter='|'
func (m *module) pillar(_ context.Context, a pairArgs) (any, error) {
	return m.named(question{tgt: a.Tgt, kind: "pillar", delim: a.Delimiter}), nil
}

// grainPcre tells whether a grain of the minion matches a regular expression.
//
// delimiter
//
//	What stands between keys, and between key and expression. Default: a colon.
//
// CLI Example:
//
//	salt '*' match.grain_pcre 'os:Fedo.*'
//	salt '*' match.grain_pcre 'ipv6|2001:.*' delimiter='|'
func (m *module) grainPcre(_ context.Context, a pairArgs) (any, error) {
	return m.named(question{tgt: a.Tgt, kind: "grain_pcre", delim: a.Delimiter}), nil
}

// grain tells whether a grain of the minion matches a glob.
//
// delimiter
//
//	What stands between keys, and between key and glob. Default: a colon.
//
// CLI Example:
//
//	salt '*' match.grain 'os:Ubuntu'
//	salt '*' match.grain 'ipv6|2001:db8::ff00:42:8329' delimiter='|'
func (m *module) grain(_ context.Context, a pairArgs) (any, error) {
	return m.named(question{tgt: a.Tgt, kind: "grain", delim: a.Delimiter}), nil
}

// list tells whether the minion stands in a list of ids, or in a text of them with commas between.
//
// minion_id
//
//	The id to ask for, in place of the minion's own.
//
// CLI Example:
//
//	salt '*' match.list 'server1,server2'
func (m *module) list(_ context.Context, a idArgs) (any, error) {
	return m.named(question{tgt: a.Tgt, kind: "list", id: a.MinionID}), nil
}

// pcre tells whether the minion's id matches a regular expression, from its beginning on.
//
// minion_id
//
//	The id to ask for, in place of the minion's own.
//
// CLI Example:
//
//	salt '*' match.pcre '.*'
func (m *module) pcre(_ context.Context, a idArgs) (any, error) {
	return m.named(question{tgt: a.Tgt, kind: "pcre", id: a.MinionID}), nil
}

// glob tells whether the minion's id matches a glob.
//
// minion_id
//
//	The id to ask for, in place of the minion's own.
//
// CLI Example:
//
//	salt '*' match.glob '*'
func (m *module) glob(_ context.Context, a idArgs) (any, error) {
	return m.named(question{tgt: a.Tgt, kind: "glob", id: a.MinionID}), nil
}
