package history

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// disagreements finds keys that two members surely saw differently for longer than a limit.
//
// From an answer to the next question a member has the state of this answer or of the next one. From a
// question to its answer it may also have that of the answer before. So two members surely disagree at
// a time if no state of the one can be that of the other. Nothing is known of a member before its
// first answer, after its last question, and around a question that it did not answer.
func disagreements(sights []Sight, limit time.Duration) (all []Violation) {
	type view struct{ minion, member string }
	views, members := map[view][]Sight{}, map[string][]string{}
	for _, s := range sights {
		v := view{s.Minion, s.Member}
		if views[v] == nil {
			members[s.Minion] = append(members[s.Minion], s.Member)
		}
		views[v] = append(views[v], s)
	}
	for _, list := range views {
		slices.SortStableFunc(list, func(a, b Sight) int { return a.Asked.Compare(b.Asked) })
	}
	for _, minion := range slices.Sorted(maps.Keys(members)) {
		names := slices.Sorted(slices.Values(members[minion]))
		for i, a := range names {
			for _, b := range names[i+1:] {
				from, long := longest(views[view{minion, a}], views[view{minion, b}])
				if long > limit {
					all = append(all, Violation{AgreeOnKeys, "", minion, a, fmt.Sprintf(
						"%s and %s saw the key of %s differently for %s from %s on", a, b, minion, long,
						from.Format("15:04:05.000"))})
				}
			}
		}
	}
	return all
}

// longest returns the longest time for which two views surely differ, and its beginning.
func longest(a, b []Sight) (from time.Time, long time.Duration) {
	var times []time.Time
	for _, s := range slices.Concat(a, b) {
		times = append(times, s.Asked, s.Answered)
	}
	slices.SortFunc(times, time.Time.Compare)
	var begun time.Time // zero while they may agree
	for i := range max(len(times)-1, 0) {
		start, end := times[i], times[i+1]
		if !end.After(start) {
			continue
		}
		if !differ(possible(a, start, end), possible(b, start, end)) {
			begun = time.Time{}
			continue
		}
		if begun.IsZero() {
			begun = start
		}
		if d := end.Sub(begun); d > long {
			from, long = begun, d
		}
	}
	return from, long
}

// possible returns the states that a view may have between two times, or nil for any. No question and
// no answer of the view lies between the times.
func possible(view []Sight, start, end time.Time) []string {
	next, _ := slices.BinarySearchFunc(view, start, func(s Sight, t time.Time) int {
		if s.Asked.After(t) {
			return 1
		}
		return -1
	})
	first := next - 1 // the last that was asked at the start or before
	if first >= 0 && !view[first].Answered.Before(end) {
		first--
	}
	if first < 0 || next == len(view) {
		return nil
	}
	var states []string
	for _, s := range view[first : next+1] {
		if s.State == "" {
			return nil
		}
		states = append(states, s.State)
	}
	return states
}

func differ(a, b []string) bool {
	if a == nil || b == nil {
		return false
	}
	return !slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
