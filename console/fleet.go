package console

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/netapi"
)

// fleetRows is how many minions a page shows.
const fleetRows = 100

// fleetGrains are the grains behind the columns that each list of minions has.
func fleetGrains() []string { return []string{"saltversion", "osfinger", "os", "osrelease"} }

// A fleetView lists minions.
type fleetView struct {
	fleetFilter
	pager
	Kinds []targetKind
	Known bool // the rest is known
	// Missing is the right that lacks; Fault says what is wrong with the target.
	Missing, Fault   string
	Total, Connected int
	Columns          []string // further grains
	Rows             []fleetRow
	Guessed          bool   // the target is on grains, and the master does not have those of each minion
	RunHref          string // address of the page that runs a function on these
}

// fleetKinds returns the kinds of targets. Those on pillar are not among them: whoever may list minions
// could find the values of a pillar by trying.
func fleetKinds() []targetKind {
	return []targetKind{{"", "Id: part of it, or a glob"}, {"compound", "Compound"}, {"grain", "Grain"},
		{"grain_pcre", "Grain, regular expression"}, {"pcre", "Id, regular expression"}, {"list", "List of ids"},
		{"nodegroup", "Nodegroup"}, {"ipcidr", "Address or network"}}
}

// A fleetFilter is the query of the page.
type fleetFilter struct {
	Text, Kind string
	State      string // yes: connected; no: not connected
	Grains     string // names, with commas
}

// A fleetRow is a minion with what the master knows about it.
type fleetRow struct {
	ID, Href    string
	Connected   bool
	Since, At   string // for how long, and the time
	Address     string
	Version, OS string
	More        []string // the values of further grains
}

// fleet lists the minions.
func fleet(q *request) error {
	v := &fleetView{fleetFilter: readFleet(q.r.URL.Query()), Kinds: fleetKinds()}
	ask, err := v.ask(q.r.URL.Query().Get("after"))
	if err != nil {
		v.Fault = netapi.FaultOf(err).Text
		return q.render(http.StatusBadRequest, "minions", "Minions", v)
	}
	if v.Grains != "" {
		v.Columns = loader.SplitInput(v.Grains)
		v.Columns = v.Columns[:min(len(v.Columns), 10)]
	}
	ask.grains = append(fleetGrains(), v.Columns...)
	r, err := q.minions.roster(ask)
	switch {
	case refused(err):
		v.Missing = "manage.fleet"
	case err != nil && netapi.FaultOf(err).Status == http.StatusBadRequest:
		v.Fault = netapi.FaultOf(err).Text
		return q.render(http.StatusBadRequest, "minions", "Minions", v)
	case err != nil:
		return err
	default:
		v.fill(q, ask, r)
	}
	return q.render(http.StatusOK, "minions", "Minions", v)
}

// readFleet reads the query. The key q is short for a text without a kind.
func readFleet(query url.Values) fleetFilter {
	f := fleetFilter{Text: strings.TrimSpace(query.Get("tgt")), Kind: query.Get("tgt_type"), State: query.Get("connected")}
	if f.Text == "" {
		f.Text, f.Kind = strings.TrimSpace(query.Get("q")), ""
	}
	if f.Kind == "glob" {
		f.Kind = ""
	}
	var names []string
	for _, list := range query["grain"] {
		names = append(names, loader.SplitInput(list)...)
	}
	f.Grains = strings.Join(slices.DeleteFunc(names, func(n string) bool { return n == "" }), ",")
	return f
}

// ask returns the question to the master that the filter stands for.
func (f fleetFilter) ask(after string) (rosterAsk, error) {
	a := rosterAsk{tgt: f.Text, kind: f.Kind, after: after, limit: fleetRows}
	switch f.State {
	case "yes", "no":
		a.connected = f.State == "yes"
	}
	switch {
	case f.Text == "":
		a.tgt, a.kind = "*", "glob"
	case f.Kind == "":
		a.tgt, a.kind = asGlob(f.Text), "glob"
	case f.Kind == "list":
		a.tgt = data.Values(loader.SplitInput(f.Text))
	case !slices.ContainsFunc(fleetKinds(), func(k targetKind) bool { return k.Value == f.Kind }):
		return a, &netapi.Fault{Status: http.StatusBadRequest, Text: "Minions cannot be listed by a target of the kind " + clip(f.Kind, 40) +
			". Choose one of the kinds of the list."}
	case f.Kind == "compound" && asksForPillar(f.Text):
		return a, &netapi.Fault{Status: http.StatusBadRequest, Text: "Minions cannot be listed by their pillar (I@ and J@): " +
			"it holds secrets, which could be found by trying."}
	}
	return a, nil
}

// asGlob returns a glob for ids that contain a text, unless that is a glob already.
func asGlob(text string) string {
	if strings.ContainsAny(text, "*?[") {
		return text
	}
	return "*" + text + "*"
}

// asksForPillar reports whether a compound target has words on pillar. Brine's master looks into its node
// groups too.
func asksForPillar(target string) bool {
	return (&match.Fleet{}).AsksForPillar(target, "compound", ":")
}

// fill sets what the master has answered.
func (v *fleetView) fill(q *request, ask rosterAsk, r *roster) {
	v.Known, v.Total, v.Connected = true, r.total, r.connected
	for _, m := range r.members {
		v.Rows = append(v.Rows, newFleetRow(q, m, v.Columns))
	}
	onGrains := slices.Contains([]string{"grain", "grain_pcre", "compound", "ipcidr"}, v.Kind)
	v.Guessed = onGrains && slices.ContainsFunc(v.Rows, func(row fleetRow) bool { return row.Version == "" })
	kind := v.Kind
	text, _ := ask.tgt.(string)
	if kind == "" {
		kind = "glob"
	} else {
		text = v.Text
	}
	v.RunHref = q.href("/run", "tgt", text, "tgt_type", kind)
	here := []string{"tgt", v.Text, "tgt_type", v.Kind, "connected", v.State, "grain", v.Grains}
	if ask.after != "" {
		v.First = q.href("/minions", here...)
	}
	if r.next != "" {
		v.Next = q.href("/minions", append(here, "after", r.next)...)
	}
}

// newFleetRow returns what a page shows of a minion.
func newFleetRow(q *request, m member, columns []string) fleetRow {
	row := fleetRow{ID: m.id, Href: q.href("/minions/" + url.PathEscape(m.id)), Connected: m.connected, Address: m.address,
		Version: m.grains.Text("saltversion"), OS: m.grains.Text("osfinger")}
	if row.OS == "" {
		row.OS = strings.TrimSpace(m.grains.Text("os") + " " + data.Str(orEmpty(m.grains.Value("osrelease"))))
	}
	if !m.since.IsZero() {
		row.Since = timeSpan(q.Now().Sub(m.since))
		row.At = m.since.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	for _, name := range columns {
		row.More = append(row.More, clip(grainText(m.grains.Value(name)), 200))
	}
	return row
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// grainText returns the value of a grain in one line.
func grainText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		return strings.Join(data.Texts(v), ", ")
	}
	return data.Str(v)
}

// Count says how many of the minions are connected.
func (v *fleetView) Count() string {
	if v.Total == 0 {
		return "No minions"
	}
	return digits(v.Connected) + " of " + digits(v.Total) + " connected"
}

// Filtered reports whether the page shows a selection.
func (v *fleetView) Filtered() bool { return v.Text != "" || v.State != "" }

// Span returns the number of columns.
func (v *fleetView) Span() int { return 6 + len(v.Columns) }
