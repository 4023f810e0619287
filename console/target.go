package console

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
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

// onPillar reports whether a target has words on pillar. Salt's master does not say which minions match these:
// whoever may ask could find out secrets by trying.
func (t target) onPillar() bool {
	return strings.HasPrefix(t.Kind, "pillar") || t.Kind == "compound" && asksForPillar(t.Text)
}
