package auth

import (
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// Peers is a parsed option peer, peer_run or mine_get: the rights of minions, by regular
// expressions for their ids. As in all rules here, an expression must match the whole id; Salt's
// matches a prefix. The zero Peers allows nothing.
type Peers struct{ entries []peerRules }

type peerRules struct {
	ids pattern
	rules
}

// ReadPeers parses one of the options. Invalid entries allow nothing and are reported in the error;
// the other entries are valid.
func ReadPeers(option *data.Map) (*Peers, error) {
	p := &Peers{}
	var errs []error
	for key, list := range option.All() {
		ids, err := newPattern(data.Str(key))
		if err != nil {
			errs = append(errs, config.Below(key, noPattern(data.Str(key), err)))
			continue
		}
		found, err := parseRules(layered(list))
		if err != nil {
			errs = append(errs, config.Below(key, err))
		}
		p.entries = append(p.entries, peerRules{ids, found})
	}
	return p, errors.Join(errs...)
}

// layered converts a mapping of targets to functions, as in Salt's documentation of peer, to the
// list that it stands for. Salt itself takes the targets for functions there, and allows nothing.
func layered(rules any) any {
	targets, ok := rules.(*data.Map)
	if !ok || keysAlone(targets) {
		return rules
	}
	var list []any
	for target, functions := range targets.All() {
		list = append(list, data.NewMap(target, functions))
	}
	return list
}

// of returns the rules for a minion: those of all expressions that match its id.
func (p *Peers) of(id string) rules {
	var all rules
	for _, e := range p.entries {
		if e.ids.match(id) {
			all = append(all, e.rules...)
		}
	}
	return all
}

// Allow reports whether a minion may call a function with any arguments (mine_get).
func (p *Peers) Allow(id, fun string) bool { return p.of(id).allowsEverywhere(fun) }

// MayRun reports whether a minion may call a runner with any arguments (peer_run). As for users, no rule
// allows the making of API keys.
func (p *Peers) MayRun(id, fun string) bool { return fun != makesKeys && p.Allow(id, fun) }

// PeerMayPublish reports whether a minion may send a job to other minions (salt/master.py,
// __verify_minion_publish). Each function must be allowed, and none may belong to the module
// publish, so that a job cannot send another job.
func (g *Gate) PeerMayPublish(peer *Peers, id string, p Publication) bool {
	own := peer.of(id)
	funs, _, ok := p.calls()
	if !ok || len(own) == 0 || slices.ContainsFunc(funs, publishes) {
		return false
	}
	if slices.Contains(funs, findJob) && !own.allowsEverywhere(findJob) {
		return false
	}
	return (&Identity{Name: id, rules: own, gate: g}).MayPublish(p)
}

func publishes(fun string) bool { return strings.HasPrefix(fun, "publish.") }
