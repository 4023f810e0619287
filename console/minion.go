package console

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// A minionView shows one minion.
type minionView struct {
	fleetRow
	Known             bool   // what the master knows about connections and grains is shown
	Missing           string // the right that lacks for it
	Tab               string
	RunHref, JobsHref string
	Base              string // address of the page without a query
	Filter            string
	Tree              template.HTML
	Empty             string // why there is no tree
	// of pillar
	Show       bool // values that do not look secret are shown
	ShowHref   string
	HideHref   string
	IsRevealed bool
}

// minionPage shows one minion: facts, and its grains or pillar as the master has them.
func minionPage(q *request) error {
	id := q.r.PathValue("id")
	query := q.r.URL.Query()
	v := &minionView{Tab: query.Get("tab"), Filter: strings.TrimSpace(query.Get("filter"))}
	v.ID, v.Base = id, q.href(minionPath(id))
	of := targetOfOne(id)
	v.RunHref = q.href("/run", "tgt", of.Text, "tgt_type", of.Kind)
	v.JobsHref = q.href("/jobs", "minion", id)
	r, err := q.minions.roster(rosterAsk{tgt: []any{id}, kind: "list", limit: 1, grains: fleetGrains()})
	switch {
	case refused(err):
		v.Missing = "manage.fleet"
	case err != nil:
		return err
	case len(r.members) == 0:
		return noMinion(q, id)
	default:
		v.fleetRow, v.Known = newFleetRow(q, r.members[0], nil), true
	}
	if v.Tab == "pillar" {
		err = v.fillPillar(q, query)
	} else {
		v.Tab = "grains"
		err = v.fillGrains(q)
	}
	if err != nil {
		return err
	}
	return q.render(http.StatusOK, "minion", id, v)
}

// fillGrains sets the tree of the cached grains.
func (v *minionView) fillGrains(q *request) error {
	grains, err := q.minions.cached("cache.grains", v.ID)
	switch {
	case refused(err):
		v.Empty = "The grains are not shown: you lack the right @runner to cache.grains."
	case err != nil:
		return err
	case grains.Len() == 0:
		v.Empty = "The master has no grains of this minion. It gets them when the minion next asks for its pillar."
	default:
		found, ok := prune(grains, v.Filter, true)
		if !ok {
			v.Empty = "No grain and no value contains " + v.Filter + "."
			break
		}
		v.Tree = tree(found, nil)
	}
	return nil
}

// fillPillar sets the tree of the cached pillar, with masked values.
func (v *minionView) fillPillar(q *request, query url.Values) error {
	here := func(words ...string) string {
		return q.href(minionPath(v.ID), append([]string{"tab", "pillar", "filter", v.Filter}, words...)...)
	}
	v.Show = query.Get("show") == "yes"
	v.ShowHref, v.HideHref = here("show", "yes"), here()
	pillar, err := q.minions.pillar(v.ID)
	switch {
	case refused(err):
		v.Empty = "The pillar is not shown: you lack the right @wheel to minions.pillar (for a master of Salt, @runner to cache.pillar)."
	case err != nil:
		return err
	case pillar.Len() == 0:
		v.Empty = "The master has no pillar of this minion in its cache."
	default:
		found, ok := prune(pillar, v.Filter, false)
		if !ok {
			v.Empty = "No key contains " + v.Filter + "."
			break
		}
		show := ""
		if v.Show {
			show = "yes"
		}
		veil := pillarVeil{shown: v.Show, revealed: query.Get("reveal")}
		v.IsRevealed = veil.revealed != ""
		v.Tree = maskedTree(found, veil.hides, func(path []string) string { return here("show", show, "reveal", joinPath(path)) })
	}
	return nil
}

// A pillarVeil decides which values of a pillar are masked.
type pillarVeil struct {
	shown    bool   // those whose keys do not look like the name of a secret are shown
	revealed string // the path of the one value that is shown whatever its keys look like
}

// hides reports whether the value at a path is masked.
func (p pillarVeil) hides(path []string) bool {
	if p.revealed != "" && joinPath(path) == p.revealed {
		return false
	}
	return !p.shown || slices.ContainsFunc(path, looksSecret)
}

// looksSecret reports whether a key looks like the name of a secret. Some that are harmless do.
func looksSecret(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc(secretWords(), func(word string) bool { return strings.Contains(key, word) })
}

// secretWords returns the words in the names of secrets.
func secretWords() []string {
	return []string{"pass", "pwd", "secret", "token", "key", "private", "cred", "auth", "hash", "cert", "psk", "dsn"}
}

// joinPath returns a path of keys as one text, from which different paths differ.
func joinPath(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = url.QueryEscape(p)
	}
	return strings.Join(parts, ":")
}

// prune returns the part of a dictionary whose keys, or with values also whose values, contain a text.
// Lists stay whole. ok is false if nothing is left.
func prune(m *data.Map, text string, values bool) (part *data.Map, ok bool) {
	if text == "" {
		return m, true
	}
	text = strings.ToLower(text)
	part = data.NewMap()
	for k, v := range m.All() {
		switch below, isMap := v.(*data.Map); {
		case strings.Contains(strings.ToLower(data.Str(k)), text):
			part.Set(k, v)
		case isMap:
			if found, ok := prune(below, text, values); ok {
				part.Set(k, found)
			}
		case values && strings.Contains(strings.ToLower(data.Str(v)), text):
			part.Set(k, v)
		}
	}
	return part, part.Len() > 0
}

// refreshGrains makes a minion collect its grains anew, and send them to the master.
func refreshGrains(q *request) error {
	id := q.r.PathValue("id")
	_, err := q.ask.change(id, "saltutil.refresh_grains")
	switch {
	case refused(err):
		return &netapi.Fault{Status: http.StatusForbidden, Text: "You lack the right to run saltutil.refresh_grains on " + id + "."}
	case err != nil:
		return err
	}
	q.notify(id + " collects its grains. The master has them in a moment.")
	return q.redirect(minionPath(id))
}

// A strayView is the page of a minion that is not there.
type strayView struct {
	ID, State string
	Keys      string // address of its key, if there is one
	Near      []link
}

type link struct{ Name, Href string }

// noMinion answers that a minion has no accepted key, with similar names.
func noMinion(q *request, id string) error {
	v := &strayView{ID: clip(id, 256)}
	lists, err := q.keys.lists()
	if err != nil && !refused(err) {
		return err
	}
	for _, s := range keyStates() {
		if _, found := slices.BinarySearch(lists[s.Shelf], id); found {
			v.State, v.Keys = s.Name, q.href("/keys", "state", s.Name, "q", literalGlob(id))
		}
	}
	for _, near := range nearest(id, lists[stateAccepted], 5) {
		v.Near = append(v.Near, link{near, q.href(minionPath(near))})
	}
	return q.render(http.StatusNotFound, "stray", "No such minion", v)
}

// nearest returns the names most similar to a text, best first: those that differ in few letters, or
// that contain it.
func nearest(text string, names []string, most int) []string {
	type scored struct {
		name string
		cost int
	}
	text = strings.ToLower(clip(text, 100))
	var all []scored
	for _, name := range names {
		lower := strings.ToLower(name)
		cost := editDistance(text, lower)
		if strings.Contains(lower, text) || strings.Contains(text, lower) {
			cost = min(cost, 1)
		}
		if cost <= max(2, len(text)/3) {
			all = append(all, scored{name, cost})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int { return a.cost - b.cost })
	var near []string
	for _, s := range all[:min(most, len(all))] {
		near = append(near, s.name)
	}
	return near
}

// editDistance returns how many letters must be added, removed or changed to make b of a.
func editDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range from {
		corner := row[0]
		row[0] = i + 1
		for j, y := range to {
			cost := corner
			if x != y {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, row[j]+1, corner+1)
		}
	}
	return row[len(to)]
}
