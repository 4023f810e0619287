package auth

import (
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// Peers is one of the options peer, peer_run and mine_get: what minions may do, under regular expressions for their ids. As all
// rules here, an expression is for the whole id, where Salt's is for how it begins. The zero Peers allow nothing.
type Peers struct{ entries []peerRules }

type peerRules struct {
	ids pattern
	rules
}

// ReadPeers reads one of the options. What cannot be read allows nothing, and is told of by the error; the rest holds.
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

// layered returns rules that are a mapping of targets to functions as the list that they stand for: so Salt's documentation writes peer
// with targets. Salt itself takes the targets for functions there, and allows nothing.
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

// Allow reports whether a minion may have a function, whatever its arguments (peer_run, mine_get).
func (p *Peers) Allow(id, fun string) bool { return p.of(id).allowsEverywhere(fun) }

// PeerMayPublish reports whether a minion may send a job to other minions (salt/master.py, __verify_minion_publish): each of its
// functions must be allowed, and be none of the module publish, so that no job sends another.
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
