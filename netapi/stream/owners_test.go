package stream

import (
	"fmt"
	"testing"

	"github.com/brineproject/brine/eventbus"
)

func TestOwnersOfEvents(t *testing.T) {
	hub := New(Options{})
	may := func(tag string) bool { return hub.Owns("ann", tag) }
	l := listen(t, hub, Filter{User: "ann", May: may})
	for _, e := range []struct{ tag, user string }{
		{"salt/job/1/new", "ann"}, {"salt/job/2/new", "bob"}, {"salt/run/3/new", "ann"}, {"salt/wheel/4/new", "ann"}, {"salt/job/5/new", "auth_ann"},
		{"salt/job/2/new", "ann"}, // forged: the job is bob's
		{"1", ""}, {"2", ""}, {"salt/job/1/ret/m1", ""}, {"salt/job/2/ret/m1", ""}, {"salt/run/3/ret", ""}, {"salt/wheel/4/ret", ""},
		{"salt/job/9/ret/m1", "ann"}, {"salt/auth", ""}, {"salt/netapi/hook/1", ""}, {"salt/minion/1/start", ""}, {"salt/batch/1/done", ""},
	} {
		hub.take(event(t, e.tag, "user", e.user))
	}
	equalTags(t, pending(t, l), "salt/job/1/new", "salt/run/3/new", "salt/wheel/4/new", "1", "salt/job/1/ret/m1", "salt/run/3/ret",
		"salt/wheel/4/ret", "salt/batch/1/done")
	if hub.Owns("", "salt/job/1/ret/m1") || New(Options{}).Owns("ann", "salt/job/1/new") {
		t.Error("nobody owns a job")
	}
}

func TestOwnersAreForgotten(t *testing.T) {
	o := newOwners()
	for i := range mostOwned + 3 {
		o.note(event(t, fmt.Sprintf("salt/job/%d/new", i), "user", "ann"))
	}
	if len(o.users) != mostOwned || o.owns("ann", "2") || !o.owns("ann", "3") || !o.owns("ann", fmt.Sprint(mostOwned+2)) {
		t.Errorf("%d jobs are known", len(o.users))
	}
	for _, e := range []eventbus.Event{{Tag: "salt/job/x/new", Data: []byte("\xc1")}, event(t, "salt/job/y/new", "user", int64(1)),
		event(t, "salt/job/z/new")} {
		o.note(e) // nothing of a user in them
	}
	if len(o.users) != mostOwned {
		t.Error("an event without a user has one")
	}
}
