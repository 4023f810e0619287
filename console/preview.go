package console

import (
	"errors"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// A preview says which minions a target matches, before anything is sent.
type preview struct {
	Known            bool
	Total, Connected int
	// HasConnected says that it is known which minions are connected.
	HasConnected bool
	Minions      []previewMinion
	More         int
	Strangers    string // ids that the target lists and that no minion has
	Note         string // why something is not known
}

type previewMinion struct {
	ID        string
	Connected bool
}

// previewSize limits the minions that a preview names.
const previewSize = 100

// preview asks the master which minions a target matches. Brine's master knows for all targets; Salt's
// for all but those on pillar.
func (ms minions) preview(t target) *preview {
	p := ms.matches(t)
	if p.Known {
		p.Strangers = ms.strangers(t, p)
	}
	return p
}

// strangers names the ids that a target lists and that have no accepted key. It is "" if there are none,
// or if that is not known.
func (ms minions) strangers(t target, p *preview) string {
	ids := t.listedIDs()
	if t.Kind == "list" && p.Total == len(ids) {
		return ""
	}
	var unknown []string
	for some := range slices.Chunk(ids, mostListed) {
		r, err := ms.roster(rosterAsk{tgt: data.Values(some), kind: "list", limit: mostListed})
		if err != nil {
			return ""
		}
		known := map[string]bool{}
		for _, m := range r.members {
			known[m.id] = true
		}
		for _, id := range some {
			if !known[id] {
				unknown = append(unknown, id)
			}
		}
	}
	text := clip(strings.Join(unknown[:min(len(unknown), strangersNamed)], ", "), 1000)
	if more := len(unknown) - strangersNamed; more > 0 {
		text += " and " + digits(more) + " more"
	}
	return text
}

// mostListed is how many ids of a list are looked up at once, and strangersNamed how many are named that
// no minion has.
const (
	mostListed     = 1000
	strangersNamed = 20
)

// matches asks the master which minions a target matches.
func (ms minions) matches(t target) *preview {
	m, err := ms.ask.runnerMap(fleetRunner, "tgt", t.value(), "tgt_type", t.Kind, "limit", int64(previewSize))
	switch {
	case err == nil && m.Has("total"):
		return previewOf(m)
	case errors.Is(err, errNoFunction) && t.onPillar():
		return &preview{Note: "Which minions match a target on pillar is known when the job has been sent."}
	case errors.Is(err, errNoFunction):
		return ms.previewOfSalt(t)
	case refused(err) && !t.onPillar():
		if p := ms.previewOfSalt(t); p.Known {
			return p
		}
	}
	text := "The runner manage.fleet does not say so."
	if err != nil {
		text = netapi.FaultOf(err).Text
	}
	return &preview{Note: "Which minions match cannot be shown: " + strings.TrimSuffix(text, ".") + "."}
}

func previewOf(m *data.Map) *preview {
	p := &preview{Known: true, HasConnected: true, Total: number(m.Value("total")),
		Connected: number(m.Value("connected"))}
	for _, v := range data.ListOf(m.Value("minions")) {
		if one, ok := v.(*data.Map); ok {
			p.Minions = append(p.Minions, previewMinion{one.Text("id"), data.Truth(one.Value("connected"))})
		}
	}
	p.More = p.Total - len(p.Minions)
	return p
}

// previewOfSalt puts a preview together from functions that Salt's master has: its keys, and for most kinds
// of targets the grains in its cache.
func (ms minions) previewOfSalt(t target) *preview {
	ids, err := ms.idsOfSalt(rosterAsk{tgt: t.value(), kind: t.Kind})
	if err != nil {
		return &preview{Note: "Which minions match cannot be shown: " + netapi.FaultOf(err).Text}
	}
	p := &preview{Known: true, Total: len(ids)}
	there, err := ms.connected()
	p.HasConnected = err == nil
	if err != nil {
		p.Note = "Which of them are connected is not known: the runner manage.present does not say so."
	}
	for _, id := range ids {
		if there[id] {
			p.Connected++
		}
	}
	for _, id := range ids[:min(len(ids), previewSize)] {
		p.Minions = append(p.Minions, previewMinion{id, there[id]})
	}
	p.More = p.Total - len(p.Minions)
	return p
}

// someone returns a minion of a preview that can be asked, a connected one if that is known.
func (p *preview) someone() string {
	for _, m := range p.Minions {
		if m.Connected {
			return m.ID
		}
	}
	if p.HasConnected || len(p.Minions) == 0 {
		return ""
	}
	return p.Minions[0].ID
}
