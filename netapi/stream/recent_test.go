package stream

import (
	"testing"
	"testing/synctest"
)

func TestRecent(t *testing.T) {
	hub := New(Options{MaxEvents: 4})
	tags := func(f Filter, n int) []string {
		var list []string
		items, _ := hub.Recent(f, n)
		for _, i := range items {
			list = append(list, i.Tag())
		}
		return list
	}
	equalTags(t, tags(Filter{}, 10))
	for _, tag := range []string{"salt/job/1/new", "salt/auth", "salt/job/2/new", "salt/job/2/ret/m"} {
		fire(t, hub, tag)
	}
	equalTags(t, tags(Filter{}, 10), "salt/job/1/new", "salt/auth", "salt/job/2/new", "salt/job/2/ret/m")
	equalTags(t, tags(Filter{}, 2), "salt/job/2/new", "salt/job/2/ret/m")
	equalTags(t, tags(Filter{Tag: "salt/job/*/new"}, 2), "salt/job/1/new", "salt/job/2/new")
	equalTags(t, tags(Filter{Job: "2"}, 1), "salt/job/2/ret/m")
	equalTags(t, tags(Filter{May: func(tag string) bool { return tag == "salt/auth" }}, 5), "salt/auth")
	equalTags(t, tags(Filter{}, 0))
	fire(t, hub, "salt/key") // the first is dropped
	hub.add(newNotice(hub, Lost{Reason: LostBus}))
	equalTags(t, tags(Filter{}, 10), "salt/job/2/new", "salt/job/2/ret/m", "salt/key")
	if n := hub.Listeners(); n != 0 {
		t.Errorf("%d listeners", n)
	}
}

// A listener goes on behind the recent events: it gets none of them again, and misses none.
func TestListenBehindRecent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, before := range []int{0, 3} {
			hub := New(Options{})
			for range before {
				fire(t, hub, "old")
			}
			items, after := hub.Recent(Filter{Tag: "old"}, 10)
			if len(items) != before {
				t.Errorf("%d recent events, want %d", len(items), before)
			}
			fire(t, hub, "between")
			l := listen(t, hub, Filter{After: after})
			fire(t, hub, "new")
			var got []string
			for range 2 {
				item, err := l.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, shown(item))
			}
			equalTags(t, got, "between", "new")
		}
	})
}
