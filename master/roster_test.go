package master

import (
	"testing"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/payload/typed"
	"github.com/brineproject/brine/version"
)

// A member that was removed is gone at once, also if what it wrote before comes late.
func TestARemovedMemberStaysRemoved(t *testing.T) {
	others := newElsewhere(time.Now)
	r := &roster{base: base{now: time.Now}, gone: others.forget, entries: map[string]rosterEntry{},
		removed: map[string]uint64{}}
	entry, err := typed.Marshal(&rosterEntry{Version: version.String(), Stopped: true})
	if err != nil {
		t.Fatal(err)
	}
	take := func(revision uint64, body []byte) {
		if err := r.take(cluster.Value{Key: "c", Body: body, Revision: revision}); err != nil {
			t.Fatal(err)
		}
	}
	shown := func() bool {
		_, signs := others.signs()["c"]
		_, entry := r.all()["c"]
		return entry || signs || others.has("web1")
	}
	take(4, entry)
	if !others.take(&presenceNews{Member: "c", Number: 1, All: true, Came: []string{"web1"}}) || !shown() {
		t.Fatal("a member that has told of itself is not shown")
	}
	r.drop("c", 6)
	take(5, entry) // on its way when the member was removed
	if shown() {
		t.Errorf("a removed member is shown: %v, %v, its minions %v", r.all(), others.signs(), others.with(nil))
	}
	take(6, nil)
	take(7, entry)
	if !shown() {
		t.Error("a member that has joined again is not shown")
	}
}
