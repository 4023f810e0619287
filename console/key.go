package console

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/pki"
)

// keyRows is how many keys a page shows.
const keyRows = 100

// The states of keys, by the names of wheel functions.
const (
	statePending  = "minions_pre"
	stateAccepted = "minions"
	stateRejected = "minions_rejected"
	stateDenied   = "minions_denied"
)

// A keyState is a state with its name on the page.
type keyState struct {
	Name, Shelf, About string
}

func keyStates() []keyState {
	return []keyState{
		{"pending", statePending, "These minions wait until you accept their key."},
		{"accepted", stateAccepted, "These minions receive jobs, files and their pillar."},
		{"rejected", stateRejected, "These keys were rejected. Their minions are told to go away."},
		{"denied", stateDenied, "Somebody has sent these keys under the id of a minion whose accepted key is another one. " +
			"That is so after a minion was installed anew, and also if another host takes its place."},
	}
}

// A keyView lists the keys in one state.
type keyView struct {
	keyFilter
	pager
	About, Missing string
	Known          bool
	Tabs           []keyTab
	Master         string // the fingerprint of the master's key
	NoFingers      string // the right to fingerprints that lacks
	Rows           []keyRow
	CanAccept      bool
	CanReject      bool
}

// A keyFilter is the query of the page.
type keyFilter struct{ State, Text, After string }

type keyTab struct {
	Name, Href string
	Count      string
	Here       bool
}

// A keyRow is a key. Finger is the fingerprint that the master has, Old that of the accepted key of the
// same id, Pasted what the operator has pasted.
type keyRow struct {
	ID, Href, Finger, Old, Pasted string
	Verdict                       string // of the comparison: equal, different, or ""
}

// keys lists the keys in one state.
func keys(q *request) error {
	query := q.r.URL.Query()
	v := &keyView{keyFilter: keyFilter{State: query.Get("state"), Text: strings.TrimSpace(query.Get("q")), After: query.Get("after")}}
	state, err := stateOf(v.State)
	if err != nil {
		return err
	}
	v.State, v.About = state.Name, state.About
	v.CanAccept, v.CanReject = state.Shelf != stateAccepted, state.Shelf != stateRejected
	lists, err := q.keys.lists()
	switch {
	case refused(err):
		v.Missing = "key.list_all"
	case err != nil:
		return err
	default:
		v.Known = true
		if err := v.fill(q, state, lists); err != nil {
			return err
		}
	}
	return q.render(http.StatusOK, "keys", "Keys", v)
}

// stateOf returns a state by its name; pending if that is empty.
func stateOf(name string) (keyState, error) {
	for _, s := range keyStates() {
		if s.Name == name || name == "" {
			return s, nil
		}
	}
	return keyState{}, &netapi.Fault{Status: http.StatusBadRequest,
		Text: "Keys are pending, accepted, rejected or denied, and not " + clip(name, 40) + "."}
}

// fill sets the tabs, the rows and their fingerprints.
func (v *keyView) fill(q *request, state keyState, lists map[string][]string) error {
	for _, s := range keyStates() {
		v.Tabs = append(v.Tabs, keyTab{s.Name, q.href("/keys", "state", s.Name, "q", v.Text), digits(len(lists[s.Shelf])), s == state})
	}
	ids := lists[state.Shelf]
	if v.Text != "" {
		glob := match.CompileGlob(asGlob(v.Text))
		ids = slices.DeleteFunc(ids, func(id string) bool { return !glob.Match(id) })
	}
	v.Few = digits(len(ids)) + " in this list"
	ids, more := pageAfter(ids, v.After, keyRows)
	if v.After != "" {
		v.First = q.href("/keys", "state", v.State, "q", v.Text)
	}
	if more {
		v.Next = q.href("/keys", "state", v.State, "q", v.Text, "after", ids[keyRows-1])
	}
	fingers, err := q.keys.fingers(ids)
	if refused(err) {
		v.NoFingers = "key.finger"
	} else if err != nil {
		return err
	}
	if own, err := q.ask.wheel("key.finger_master"); err == nil {
		m, _ := own.(*data.Map)
		of, _ := m.Value("local").(*data.Map)
		v.Master = of.Text("master.pub")
	}
	query := q.r.URL.Query()
	for _, id := range ids {
		row := keyRow{ID: id, Finger: fingers[state.Shelf][id], Pasted: clip(query.Get("finger."+id), 2000)}
		switch state.Shelf {
		case stateAccepted:
			row.Href = q.href(minionPath(id))
		case stateDenied:
			row.Old = fingers[stateAccepted][id]
		}
		row.Verdict = compareFingers(row.Finger, row.Pasted)
		v.Rows = append(v.Rows, row)
	}
	return nil
}

// literalGlob returns a glob that matches one text alone.
func literalGlob(text string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(text)
}

var fingerprint = regexp.MustCompile(`(?i)\b[0-9a-f]{2}(?::[0-9a-f]{2}){15,}\b`)

// compareFingers compares the fingerprint that the master has with a text that contains one, such as the
// output of salt-call --local key.finger. It is "" if nothing is to be compared.
func compareFingers(finger, text string) string {
	if finger == "" || strings.TrimSpace(text) == "" {
		return ""
	}
	if given := fingerprint.FindString(text); strings.EqualFold(given, finger) {
		return "equal"
	}
	return "different"
}

// A keyAct is what can be done with keys.
type keyAct struct {
	fun, done string
	from      []string // states
	words     []any
}

func keyActs() map[string]keyAct {
	return map[string]keyAct{
		"accept": {"key.accept_dict", "accepted", []string{statePending, stateRejected, stateDenied},
			[]any{"include_rejected", true, "include_denied", true}},
		"reject": {"key.reject_dict", "rejected", []string{statePending, stateAccepted, stateDenied},
			[]any{"include_accepted", true, "include_denied", true}},
		"delete": {"key.delete_dict", "deleted", []string{statePending, stateAccepted, stateRejected, stateDenied}, nil},
	}
}

// changeKeys accepts, rejects or deletes the keys of a form.
func changeKeys(q *request) error {
	form := q.r.PostForm
	state, err := stateOf(form.Get("state"))
	if err != nil {
		return err
	}
	act, ok := keyActs()[form.Get("act")]
	if !ok || !slices.Contains(act.from, state.Shelf) {
		return &netapi.Fault{Status: http.StatusBadRequest, Text: "Keys that are " + state.Name + " cannot be changed so."}
	}
	back := []string{"state", state.Name, "q", form.Get("q"), "after", form.Get("after")}
	shown := chosenKeys(form["key"])
	ids := slices.Sorted(maps.Keys(shown))
	if len(ids) == 0 {
		q.notify("No key was chosen.")
		return q.redirect("/keys", back...)
	}
	for _, id := range ids {
		if err := pki.ValidID(id); err != nil {
			return &netapi.Fault{Status: http.StatusBadRequest, Text: "A key cannot be changed: " + err.Error()}
		}
	}
	if lists, err := q.keys.lists(); err == nil { // others may have changed them since
		ids = slices.DeleteFunc(ids, func(id string) bool {
			_, there := slices.BinarySearch(lists[state.Shelf], id)
			return !there
		})
		if len(ids) == 0 {
			q.notify("None of the chosen keys is " + state.Name + " any more.")
			return q.redirect("/keys", back...)
		}
	}
	if err := q.keys.unchanged(state, ids, shown); err != nil {
		return err
	}
	words := append([]any{"match", data.NewMap(state.Shelf, data.Values(ids))}, act.words...)
	_, err = q.ask.wheel(act.fun, words...)
	if refused(err) {
		return noRight("@wheel", act.fun)
	}
	if err != nil {
		return err
	}
	q.notify(q.keys.outcome(state, act, ids))
	return q.redirect("/keys", back...)
}

// chosenKeys returns the fingerprints of a form's keys by id, as its page has shown them. A field is a
// fingerprint, which is empty if it was unknown, a space, and an id.
func chosenKeys(fields []string) map[string]string {
	shown := map[string]string{}
	for _, field := range fields {
		finger, id, _ := strings.Cut(field, " ")
		shown[id] = finger
	}
	return shown
}
