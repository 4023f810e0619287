package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// A keyring is the keys of minions, as far as one user may see them.
type keyring struct{ ask *asker }

// lists returns the sorted ids of all keys of minions by their state.
func (k keyring) lists() (map[string][]string, error) {
	v, err := k.ask.wheel("key.list_all")
	if err != nil {
		return nil, err
	}
	m, _ := v.(*data.Map)
	lists := map[string][]string{}
	for _, s := range keyStates() {
		ids := data.TextsOf(m.Value(s.Shelf))
		slices.Sort(ids)
		lists[s.Shelf] = ids
	}
	return lists, nil
}

// fingers returns the fingerprints of keys by state and id.
func (k keyring) fingers(ids []string) (map[string]map[string]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	exact := make([]any, len(ids))
	for i, id := range ids {
		exact[i] = literalGlob(id)
	}
	v, err := k.ask.wheel("key.finger", "match", exact)
	if err != nil {
		return nil, err
	}
	m, _ := v.(*data.Map)
	all := map[string]map[string]string{}
	for shelf, of := range m.All() {
		of, _ := of.(*data.Map)
		prints := map[string]string{}
		for id, finger := range of.All() {
			prints[data.Str(id)] = data.Str(finger)
		}
		all[data.Str(shelf)] = prints
	}
	return all, nil
}

// unchanged returns a fault if a key is another one than the page has shown. Users who may not see
// fingerprints have compared none.
func (k keyring) unchanged(state keyState, ids []string, shown map[string]string) error {
	now, err := k.fingers(ids)
	if refused(err) {
		return nil
	}
	if err != nil {
		return err
	}
	other := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return shown[id] == now[state.Shelf][id]
	})
	if len(other) == 0 {
		return nil
	}
	text := "Nothing was changed: the fingerprint on the page is no longer that of the key of " +
		clip(strings.Join(other, ", "), 200) + ". Look at the keys again."
	return &netapi.Fault{Status: http.StatusConflict, Text: text}
}

// outcome says what has become of keys, after a look at them.
func (k keyring) outcome(state keyState, act keyAct, ids []string) string {
	what := "The key of " + ids[0] + " is " + act.done + "."
	if len(ids) > 1 {
		what = digits(len(ids)) + " keys are " + act.done + "."
	}
	lists, err := k.lists()
	if err != nil {
		return what
	}
	left := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		_, still := slices.BinarySearch(lists[state.Shelf], id)
		return !still
	})
	switch {
	case len(left) == 0:
		return what
	case len(left) == len(ids):
		return "Nothing was " + act.done + ": the master's log says why."
	}
	return count(len(ids)-len(left), "key") + " " + act.done + "; not " +
		clip(strings.Join(left, ", "), 200) + ": the master's log says why."
}
