package master

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/schedule"
)

// TestReturnsThatAreNotKept checks that job_cache and nocache keep returns out of the job cache,
// though these are still announced. Jobs are always stored.
func TestReturnsThatAreNotKept(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*config.Master)
		kwargs *data.Map
		kept   int
	}{
		{"as usual", nil, nil, 1},
		{"job_cache: False", func(c *config.Master) { c.JobCache = false }, nil, 0},
		{"nocache", nil, data.NewMap("nocache", true), 0},
		{"nocache: False", nil, data.NewMap("nocache", false), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.change, "web1")
			events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
			defer events.Close()
			jid := job.NewID(time.Now())
			load := data.NewMap("cmd", "publish", "tgt", "*", "fun", "test.ping", "arg", []any{},
				"tgt_type", "glob", "ret", "", "jid", string(jid), "key", b.key, "user", "root")
			if tt.kwargs != nil {
				load.Set("kwargs", tt.kwargs)
			}
			body, _ := payload.Marshal(data.NewMap("enc", "clear", "load", load, "version", int64(3)))
			if reply, err := payload.Unmarshal(b.ask(body), payload.WireLimits()); err != nil ||
				jidOf(reply) != string(jid) {
				t.Fatalf("publish: %s, %v", data.Repr(reply), err)
			}
			b.send(t, "_return", "web1", returnOf("web1", jid, true))
			if tags := returnTags(t, b, events); !slices.Contains(tags, "salt/job/"+string(jid)+"/ret/web1") {
				t.Errorf("the return was not announced: %v", tags)
			}
			if _, err := b.jobs.Job(t.Context(), jid); err != nil {
				t.Errorf("the job: %v", err)
			}
			if returns, _ := b.jobs.Returns(t.Context(), jid); len(returns) != tt.kept {
				t.Errorf("%d returns are kept, want %d", len(returns), tt.kept)
			}
		})
	}
}

// TestPresenceEvents checks the presence events against Salt's handle_presence: changes, and the
// connected minions.
func TestPresenceEvents(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.PresenceEvents = true }, "web1")
	c := &crowd{}
	p := newPresence(c, nil, b.parts.settings, time.Now)
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/presence/"}})
	defer events.Close()
	for _, id := range []string{"web1", "web2"} {
		p.note(id, from("10.0.0.1"))
	}
	for _, tt := range []struct {
		peers, want string
	}{
		{"", "present{'present': []}"},
		{"10.0.0.1/web1", "change{'new': ['web1'], 'lost': []} present{'present': ['web1']}"},
		{"10.0.0.1/web1", "present{'present': ['web1']}"},
		{"10.0.0.1/web2", "change{'new': ['web2'], 'lost': ['web1']} present{'present': ['web2']}"},
	} {
		c.connect(strings.Fields(tt.peers)...)
		p.announce(b.bus, silent(t))
		var got []string
		for range strings.Count(tt.want, "{") {
			e, err := events.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m, err := e.Map()
			if err != nil {
				t.Fatal(err)
			}
			m.Delete("_stamp")
			got = append(got, strings.TrimPrefix(e.Tag, "salt/presence/")+data.Repr(m))
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("with %q: %s, want %s", tt.peers, text, tt.want)
		}
	}
}

// TestPresenceOfANewLeader has a member lead after minions have come and gone: it announces only what has
// changed since.
func TestPresenceOfANewLeader(t *testing.T) {
	b := newBench(t, func(c *config.Master) { c.PresenceEvents = true }, "web1")
	c := &crowd{}
	m := newMaintenance(b.parts, newPublishing(b.parts))
	m.lead = newLeadership()
	m.presence = newPresence(c, nil, b.parts.settings, time.Now)
	for _, id := range []string{"web1", "web2"} {
		m.presence.note(id, from("10.0.0.1"))
	}
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test", Prefixes: []string{"salt/presence/"}})
	defer events.Close()
	tasks := m.tasks()
	announce := tasks[slices.IndexFunc(tasks, func(t schedule.Task) bool { return t.Name == "__presence" })].Do
	c.connect("10.0.0.1/web1")
	must(t, announce(t.Context()))
	led, end := context.WithCancel(t.Context())
	begun, back := make(chan struct{}), make(chan struct{})
	go func() { m.lead.lead(led, cluster.Token{Number: 1}, func() { close(begun) }); close(back) }()
	<-begun
	must(t, announce(t.Context()))
	c.connect("10.0.0.1/web2")
	must(t, announce(t.Context()))
	end()
	<-back
	var got []string
	for range 3 {
		e, err := events.Next(t.Context())
		must(t, err)
		got = append(got, strings.TrimPrefix(e.Tag, "salt/presence/"))
	}
	same(t, "announced", got, []string{"present", "change", "present"})
}
