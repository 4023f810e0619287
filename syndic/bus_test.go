package syndic

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

func TestSubjectOfAnEvent(t *testing.T) {
	for tag, want := range map[string]string{
		"salt/minion/web1/start":                        "web1",
		"salt/beacon/web1/disk/":                        "web1",
		"salt/state_result/20260301120000000000/web1/x": "web1",
		"salt/job/20260301120000000000/prog/web1/1":     "web1",
		"salt/job/20260301120000000000/new":             "",
		"salt/auth":                                     "",
		"my/minion/web1/start":                          "",
	} {
		if got := subject(tag); got != want {
			t.Errorf("%s: %q, want %q", tag, got, want)
		}
	}
}

func FuzzNewAnswer(f *testing.F) {
	for _, m := range []*data.Map{
		data.NewMap("jid", string(jid), "id", "web1", "return", true, "fun", "test.ping", "master_id", "top"),
		data.NewMap("jid", int64(1), "id", []any{}, "return", data.NewMap()),
		data.NewMap("jid", string(jid), "id", "../x", "return", nil),
	} {
		b, err := payload.MarshalBin(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fields, err := payload.ParseFields(b, payload.WireLimits())
		if err != nil {
			return
		}
		a, err := newAnswer(fields)
		if err != nil {
			return
		}
		if !job.ValidID(a.jid) || pki.ValidID(a.minion) != nil {
			t.Errorf("job %q, minion %q", a.jid, a.minion)
		}
		if _, err := payload.ParseFields(a.body, payload.WireLimits()); err != nil {
			t.Errorf("body %x: %v", a.body, err)
		}
	})
}
