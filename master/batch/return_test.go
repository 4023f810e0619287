package batch

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/payload"
)

func TestReturnOf(t *testing.T) {
	full, empty := data.NewMap("pid", int64(1)), data.NewMap()
	for _, c := range []struct {
		tag     string
		load    *data.Map
		ok      bool
		retcode int
		running bool
	}{
		{"salt/job/20260501120000000000/ret/web1", data.NewMap("return", true, "retcode", int64(3)),
			true, 3, false},
		{"salt/job/20260501120000000000/ret/web1",
			data.NewMap("return", full, "retcode", data.NewMap("a.b", int64(0), "c.d", int64(2))),
			true, 2, true},
		{"salt/job/20260501120000000000/ret/web1",
			data.NewMap("return", empty, "retcode", []any{int64(0), int64(5)}), true, 5, false},
		{"salt/job/20260501120000000000/ret/web1", data.NewMap("return", "text", "retcode", true),
			true, 1, false},
		{"salt/job/20260501120000000000/ret/web1", data.NewMap("return", []any{full}), true, 0, false},
		{"salt/job/20260501120000000000/new", data.NewMap("minions", []any{"web1"}), false, 0, false},
		{"salt/auth", data.NewMap("id", "web1"), false, 0, false},
	} {
		raw, err := payload.MarshalBin(c.load)
		if err != nil {
			t.Fatal(err)
		}
		r, ok := ReturnOf(eventbus.Event{Tag: c.tag, Data: raw})
		if ok != c.ok || r.Retcode != c.retcode || r.Running != c.running ||
			ok && (r.Minion != "web1" || r.Job != "20260501120000000000") {
			t.Errorf("%s %s: %+v, %v", c.tag, data.Repr(c.load), r, ok)
		}
	}
}
