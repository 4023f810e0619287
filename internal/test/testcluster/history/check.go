package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Rule is a promise of a cluster.
type Rule string

// The rules.
const (
	// RunOnce: a minion runs no job twice.
	RunOnce Rule = "run once"
	// KeepReturns: a return that a master acknowledged is in a job cache, and in that of each member
	// if they share one.
	KeepReturns Rule = "keep returns"
	// KeepShown: the same for a return that an orderer got.
	KeepShown Rule = "keep shown returns"
	// TellMissing: an order that ends without a missing minion has a return of each minion.
	TellMissing Rule = "tell missing minions"
	// ShowOnce: an orderer gets at most one return of a minion.
	ShowOnce Rule = "show once"
	// AgreeOnKeys: two members that answer do not see a key differently for longer than
	// Promises.Disagree.
	AgreeOnKeys Rule = "agree on keys"
)

// A Violation is a broken rule.
type Violation struct {
	Rule                Rule
	JID, Minion, Member string // what it is about, as far as it is about one
	Text                string
}

func (v Violation) String() string { return string(v.Rule) + ": " + v.Text }

// Promises are what Check demands.
type Promises struct {
	Shared   bool          // each member has all returns; otherwise one is enough
	Disagree time.Duration // how long members may see a key differently; 0 means 1 s
}

// Check returns what in a history breaks a rule, in the order of the rules, sorted by job and minion.
func Check(h *History, p Promises) []Violation {
	var all []Violation
	all = append(all, runTwice(h)...)
	caches := newCaches(h)
	for _, a := range h.Acks {
		text := fmt.Sprintf("the return of %s to job %s, which %s acknowledged,", a.Minion, a.JID, a.Master)
		all = append(all, caches.missing(KeepReturns, a.JID, a.Minion, text, p.Shared)...)
	}
	for _, o := range h.Orders {
		for _, id := range unique(o.Returned) {
			text := fmt.Sprintf("the return of %s to job %s, which the orderer on %s got,", id, o.JID, o.Member)
			all = append(all, caches.missing(KeepShown, o.JID, id, text, p.Shared)...)
		}
	}
	for _, o := range h.Orders {
		all = append(all, o.untold()...)
		all = append(all, o.twice()...)
	}
	all = append(all, disagreements(h.Sights, cmp.Or(p.Disagree, time.Second))...)
	slices.SortStableFunc(all, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(order(a.Rule), order(b.Rule)), cmp.Compare(a.JID, b.JID),
			cmp.Compare(a.Minion, b.Minion), cmp.Compare(a.Member, b.Member))
	})
	return all
}

func order(r Rule) int {
	return slices.Index([]Rule{RunOnce, KeepReturns, KeepShown, TellMissing, ShowOnce, AgreeOnKeys}, r)
}

func compareRuns(a, b Run) int {
	return cmp.Or(cmp.Compare(a.JID, b.JID), cmp.Compare(a.Minion, b.Minion))
}

// runTwice finds jobs that a minion ran more than once, also if several entries say so together.
func runTwice(h *History) (all []Violation) {
	counts := map[Run]int{}
	for _, r := range h.Runs {
		counts[Run{Minion: r.Minion, JID: r.JID}] += r.Count
	}
	for _, r := range slices.SortedFunc(maps.Keys(counts), compareRuns) {
		if n := counts[r]; n > 1 {
			all = append(all, Violation{RunOnce, r.JID, r.Minion, "",
				fmt.Sprintf("%s ran job %s %d times%s", r.Minion, r.JID, n, h.orderedOn(r.JID))})
		}
	}
	return all
}

// orderedOn tells which order a job belongs to.
func (h *History) orderedOn(jid string) string {
	for _, o := range h.Orders {
		if o.JID == jid && o.Published {
			return ", which was acknowledged on " + o.Member
		}
	}
	return ", which was not acknowledged to an orderer"
}

// A caches finds returns in job caches.
type caches struct {
	members []string
	has     map[Ack]bool // Master is the member
}

func newCaches(h *History) *caches {
	c := &caches{members: slices.Sorted(maps.Keys(h.Caches)), has: map[Ack]bool{}}
	for member, jobs := range h.Caches {
		for jid, minions := range jobs {
			for _, id := range minions {
				c.has[Ack{id, jid, member}] = true
			}
		}
	}
	return c
}

// missing reports a return that is in no job cache, or each member that lacks it.
func (c *caches) missing(rule Rule, jid, minion, text string, shared bool) (all []Violation) {
	var without []string
	for _, member := range c.members {
		if !c.has[Ack{minion, jid, member}] {
			without = append(without, member)
		}
	}
	switch {
	case len(without) == len(c.members):
		return []Violation{{rule, jid, minion, "", text + " is in no job cache"}}
	case !shared:
		return nil
	}
	for _, member := range without {
		all = append(all, Violation{rule, jid, minion, member, text + " is not in the job cache of " + member})
	}
	return all
}

// untold reports an order that succeeded without returns of all its minions.
func (o *Order) untold() []Violation {
	if !o.Succeeded() {
		return nil
	}
	var without []string
	for _, id := range unique(o.Minions) {
		if !slices.Contains(o.Returned, id) {
			without = append(without, id)
		}
	}
	if len(without) == 0 {
		return nil
	}
	return []Violation{{TellMissing, o.JID, "", o.Member, fmt.Sprintf(
		"order %s on %s ended without a missing minion, and without returns of %s", o.JID, o.Member,
		strings.Join(without, ", "))}}
}

// twice reports minions whose returns the orderer got more than once.
func (o *Order) twice() (all []Violation) {
	counts := map[string]int{}
	for _, id := range o.Returned {
		counts[id]++
	}
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[id]; n > 1 {
			all = append(all, Violation{ShowOnce, o.JID, id, o.Member,
				fmt.Sprintf("order %s on %s got %d returns of %s", o.JID, o.Member, n, id)})
		}
	}
	return all
}

func unique(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
