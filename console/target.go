package console

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/netapi"
)

// A target selects minions, as a user wrote it.
type target struct {
	Text, Kind string
}

// A targetKind is a kind of target with its name on pages.
type targetKind struct{ Value, Name string }

func targetKinds() []targetKind {
	return []targetKind{{"glob", "Glob"}, {"list", "List"}, {"grain", "Grain"}, {"compound", "Compound"}, {"nodegroup", "Nodegroup"},
		{"pillar", "Pillar"}, {"pcre", "Regular expression"}, {"grain_pcre", "Grain, regular expression"},
		{"pillar_pcre", "Pillar, regular expression"}, {"pillar_exact", "Pillar, exact"}, {"ipcidr", "Address or network"},
		{"range", "Range"}}
}

// value returns a target as the master expects it.
func (t target) value() any {
	if t.Kind == "list" {
		return data.Values(loader.SplitInput(t.Text))
	}
	return t.Text
}

// targetOf returns the target of a job, for people. See writable.
func targetOf(v any, kind string) target {
	if list, ok := v.([]any); ok {
		return target{strings.Join(data.Texts(list), ","), "list"}
	}
	return target{data.Str(v), kind}
}

// targetOfOne returns a target that matches one minion and no other, whatever its id contains. A comma in
// a list would divide the id into those of other minions.
func targetOfOne(id string) target {
	if isOdd(id) {
		return target{literalGlob(id), "glob"}
	}
	return target{id, "list"}
}

// writable returns the target of a job as a user can write it: it matches the same minions. The error is
// a fault if there is none.
func writable(v any, kind string) (target, error) {
	list, ok := v.([]any)
	if !ok {
		return target{data.Str(v), kind}, nil
	}
	ids := data.Texts(list)
	if len(ids) == 1 {
		return targetOfOne(ids[0]), nil
	}
	for _, id := range ids {
		if isOdd(id) {
			return target{}, badRequest("The target of this job names the minion " + clip(id, 100) + ". Its id cannot be written in a list, " +
				"where a comma is between two ids and spaces do not count: other minions could be meant. Choose the target anew.")
		}
	}
	return target{strings.Join(ids, ","), "list"}, nil
}

// isOdd reports whether an id cannot be written in a list of ids.
func isOdd(id string) bool {
	return strings.Contains(id, ",") || strings.TrimSpace(id) != id || id == ""
}

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
func (q *request) preview(t target) *preview {
	p := q.matches(t)
	if p.Known {
		p.Strangers = q.strangers(t, p)
	}
	return p
}

// listedIDs returns the ids that a target lists, each once: in a list, or in the words L@ of a compound
// target.
func (t target) listedIDs() []string {
	var ids []string
	switch t.Kind {
	case "list":
		ids = loader.SplitInput(t.Text)
	case "compound":
		for _, word := range strings.Fields(t.Text) {
			if w := match.ParseWord(word); w.Engine == "L" {
				ids = append(ids, strings.Split(w.Pattern, ",")...)
			}
		}
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// strangers names the ids that a target lists and that have no accepted key. It is "" if there are none,
// or if that is not known.
func (q *request) strangers(t target, p *preview) string {
	ids := t.listedIDs()
	if t.Kind == "list" && p.Total == len(ids) {
		return ""
	}
	var unknown []string
	for some := range slices.Chunk(ids, mostListed) {
		r, err := q.roster(rosterAsk{tgt: data.Values(some), kind: "list", limit: mostListed})
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
func (q *request) matches(t target) *preview {
	m, err := q.ask.runnerMap(fleetRunner, "tgt", t.value(), "tgt_type", t.Kind, "limit", int64(previewSize))
	switch {
	case err == nil && m.Has("total"):
		return previewOf(m)
	case errors.Is(err, errNoFunction) && t.onPillar():
		return &preview{Note: "Which minions match a target on pillar is known when the job has been sent."}
	case errors.Is(err, errNoFunction):
		return q.previewOfSalt(t)
	case refused(err) && !t.onPillar():
		if p := q.previewOfSalt(t); p.Known {
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
	p := &preview{Known: true, HasConnected: true, Total: number(m.Value("total")), Connected: number(m.Value("connected"))}
	for _, v := range data.ListOf(m.Value("minions")) {
		if one, ok := v.(*data.Map); ok {
			p.Minions = append(p.Minions, previewMinion{one.Text("id"), data.Truth(one.Value("connected"))})
		}
	}
	p.More = p.Total - len(p.Minions)
	return p
}

// previewOfSalt puts a preview together from functions that Salt's master has: its keys, and for most kinds of
// targets the grains in its cache.
func (q *request) previewOfSalt(t target) *preview {
	ids, err := q.idsOfSalt(rosterAsk{tgt: t.value(), kind: t.Kind})
	if err != nil {
		return &preview{Note: "Which minions match cannot be shown: " + netapi.FaultOf(err).Text}
	}
	p := &preview{Known: true, Total: len(ids)}
	there, err := q.connected()
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

// onPillar reports whether a target has words on pillar. Salt's master does not say which minions match these:
// whoever may ask could find out secrets by trying.
func (t target) onPillar() bool {
	return strings.HasPrefix(t.Kind, "pillar") || t.Kind == "compound" && asksForPillar(t.Text)
}

// connected returns the connected minions.
func (q *request) connected() (map[string]bool, error) {
	v, err := q.ask.runner("manage.present")
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, &netapi.Fault{Status: http.StatusBadGateway, Text: data.Str(v)}
	}
	there := make(map[string]bool, len(list))
	for _, id := range data.Texts(list) {
		there[id] = true
	}
	return there, nil
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
