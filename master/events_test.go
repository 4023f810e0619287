package master

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/payload"
)

// TestTagsOfMinions is the regression test of CVE-2025-22236 and CVE-2025-22239: what a minion
// fires must not pass for the master's own.
func TestTagsOfMinions(t *testing.T) {
	for _, tt := range []struct {
		name, tag string
		allowed   bool
	}{
		{"a tag of the user's own", "myapp/deployed", true},
		{"one below salt that nobody reserves", "salt/custom/thing", true},
		{"its own start", "salt/minion/web1/start", true},
		{"the old start", "minion_start", true},
		{"its own beacon", "salt/beacon/web1/load/", true},
		{"the progress of its job", "salt/job/20261121074539197176/prog/web1/0", true},
		{"that it has taken its job", "salt/job/20261121074539197176/ack/web1", true},
		{"that another minion has taken a job", "salt/job/20261121074539197176/ack/db1", false},
		{"more than that it has taken its job", "salt/job/20261121074539197176/ack/web1/ret", false},
		{"that it has taken all jobs", "salt/job//ack/web1", false},
		{"that it has taken something that is no job", "salt/job/a.b/ack/web1", false},
		{"another minion's start", "salt/minion/db1/start", false},
		{"another minion's beacon", "salt/beacon/db1/load/", false},
		{"another minion's progress", "salt/job/20261121074539197176/prog/db1/0", false},
		{"a sign-in", "salt/auth", false},
		{"a key", "salt/key", false},
		{"a rotation", "key", false},
		{"a return", "salt/job/20261121074539197176/ret/web1", false},
		{"a new job", "salt/job/20261121074539197176/new", false},
		{"a publication", "salt/job/20261121074539197176/publish", false},
		{"the minions of a job", "20261121074539197176", false},
		{"the minions of a job with a process id", "20261121074539197176_77", false},
		{"a runner", "salt/run/20261121074539197176/ret", false},
		{"a wheel function", "salt/wheel/20261121074539197176/ret", false},
		{"presence", "salt/presence/present", false},
		{"a syndic's event", "syndic/s1/salt/auth", false},
		{"a cluster's event", "cluster/peer/x", false},
		{"the end of all listeners", "salt/event/exit", false},
		{"no tag", "", false},
		{"the result of a state of its own", "salt/state_result/20261121074539197176/web1/nginx/more", true},
		{"the result of a state of another minion",
			"salt/state_result/20261121074539197176/db1/nginx", false},
		{"the result of a state without a name", "salt/state_result/20261121074539197176/web1", false},
		{"the result of a state of no job", "salt/state_result//web1/nginx", false},
		{"a sign-in, by its old tag", "auth", false},
		{"a job, by its old tag", "new_job", false},
		{"the end of a cluster's session key", "rotate_cluster_aes_key", false},
		{"a word that only begins as one of the master's", "authors", true},
		{"a blank line, which ends a tag", "a\n\nb", false},
		{"a NUL", "a\x00b", false},
		{"a space", "a b", false},
		{"an endless tag", strings.Repeat("a", 2000), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := checkTag("web1", tt.tag); (err == nil) != tt.allowed {
				t.Errorf("checkTag(web1, %q) = %v, want allowed = %v", tt.tag, err, tt.allowed)
			}
		})
	}
}

// TestListedEventsNameTheirSender fires events as a list, with bodies that claim to be another
// minion's.
func TestListedEventsNameTheirSender(t *testing.T) {
	for _, tt := range []struct {
		name   string
		event  *data.Map
		pretag string
		want   []string
	}{
		{"the id of another", data.NewMap("tag", "app/up",
			"data", data.NewMap("id", "db1", "n", int64(1))), "",
			[]string{"app/up {'id': 'web1', 'n': 1}"}},
		{"an id that is no text", data.NewMap("tag", "app/up", "data", data.NewMap("id", []any{"db1"})), "",
			[]string{"app/up {'id': 'web1'}"}},
		{"its own id", data.NewMap("tag", "app/up", "data", data.NewMap("id", "web1")),
			"", []string{"app/up {'id': 'web1'}"}},
		{"no id", data.NewMap("tag", "app/up", "data", data.NewMap("n", int64(1))),
			"", []string{"app/up {'n': 1}"}},
		{"no body", data.NewMap("tag", "app/up", "id", "db1"),
			"", []string{"app/up {'tag': 'app/up', 'id': 'web1'}"}},
		{"a beacon", data.NewMap("tag", "salt/beacon/web1/load/", "data", data.NewMap("id", "db1")), "",
			[]string{"salt/beacon/web1/load/ {'id': 'web1'}"}},
		{"below a pretag too", data.NewMap("tag", "up", "data", data.NewMap("id", "db1")), "app",
			[]string{"up {'id': 'web1'}", "salt/app/up {'id': 'web1'}"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, firedList(t, tt.event, tt.pretag)); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
		})
	}
}

// firedList returns what reaches the bus of a list of one event of minion web1.
func firedList(t *testing.T, event *data.Map, pretag string) []string {
	t.Helper()
	log := logging.Discard()
	bus := eventbus.New(eventbus.Options{Log: log})
	sub := bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer sub.Close()
	load := data.NewMap("cmd", "_minion_event", "id", "web1", "events", []any{event})
	if pretag != "" {
		load.Set("pretag", pretag)
	}
	raw, err := payload.Marshal(load)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := payload.ParseFields(raw, payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	e := &minionEvents{bus: bus, log: log}
	if _, err := e.fire(t.Context(),
		&channel.Command{Caller: channel.Caller{ID: "web1"}, Load: fields}); err != nil {
		t.Fatal(err)
	}
	if err := bus.Fire("end", data.NewMap()); err != nil {
		t.Fatal(err)
	}
	return untilEnd(t, sub)
}

func untilEnd(t *testing.T, sub *eventbus.Subscription) []string {
	t.Helper()
	var got []string
	for {
		event, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if event.Tag == "end" {
			return got
		}
		v, err := payload.UnmarshalText(event.Data, payload.WireLimits())
		if err != nil {
			t.Fatal(err)
		}
		body := v.(*data.Map)
		body.Delete("_stamp")
		got = append(got, event.Tag+" "+data.Repr(body))
	}
}
