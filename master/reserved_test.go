package master

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// trusted are tags that the master's own parts fire and that it, its clients or reactors act on.
var trusted = []string{
	"salt/auth", "salt/key", "salt/job/20261121074539197176/new",
	"salt/job/20261121074539197176/publish", "salt/job/20261121074539197176/ret/web1",
	"salt/job/20261121074539197176/sub/web1/error/state.sls",
	"salt/job/20261121074539197176/prog/db1/0", "salt/job/20261121074539197176/ack/db1",
	"salt/run/20261121074539197176/new", "salt/run/20261121074539197176/ret",
	"salt/wheel/20261121074539197176/ret", "salt/presence/present", "salt/presence/change",
	"salt/stats/MWorker-0", "salt/batch/20261121074539197176/start", "salt/cloud/vm/created",
	"salt/fileserver/gitfs/update", "salt/engines/hook/x",
	"salt/netapi/hook/x", "salt/queue/q/process", "salt/reactor/dropped",
	"salt/reactors/manage/add", "salt/event/exit", "salt/event_listen/start",
	"salt/minion/db1/start", "salt/beacon/db1/load/", "salt/syndic/s1/start", "minion/refresh/db1",
	"syndic/s1/salt/auth", "cluster/peer/x", "cluster/event/x/salt/auth", "__schedule_return", "key",
	"20261121074539197176", "20261121074539197176_4711",
}

// TestCVE2025_22236 fires each trusted tag as a minion in every form of an event (also
// CVE-2025-22239): none reaches the bus. The same forms with a tag of the minion's own do.
func TestCVE2025_22236(t *testing.T) {
	b := newBench(t, nil, "web1", "db1")
	b.listen(t)
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "test"})
	defer events.Close()
	body := func() *data.Map {
		return data.NewMap("id", "db1", "fun", "cmd.run", "tgt", "*", "jid", "20261121074539197176",
			"minions", []any{"db1"}, "load", data.NewMap())
	}
	one := func(tag any, fields ...any) *data.Map {
		load := data.NewMap("cmd", "_minion_event", "id", "web1", "tag", tag, "data", body())
		load.Update(data.NewMap(fields...))
		return load
	}
	list := func(pretag any, tags ...any) *data.Map {
		var all []any
		for _, tag := range tags {
			all = append(all, data.NewMap("tag", tag, "data", body()),
				data.NewMap("tag", tag, "jid", "20261121074539197176"))
		}
		return data.NewMap("cmd", "_minion_event", "id", "web1", "events", all, "pretag", pretag)
	}
	forms := func(tag string) []*data.Map {
		inner := strings.TrimPrefix(tag, "salt/")
		head, rest, _ := strings.Cut(inner, "/")
		return []*data.Map{one(tag), one(tag, "pretag", "x"), one(tag, "pretag", nil),
			one([]byte(tag)), list(nil, tag), list("", tag), list(nil, "own/tag", tag), list(head,
				rest), list(inner, ""), one(tag + "\n\n" + "own"), one("\n\n" + tag),
			one(" " + tag), one(tag + " "), one("own\n\n" + tag), one([]any{tag}), list(nil,
				[]any{tag}), one(tag, "events", []any{}), one(tag, "events", "text")}
	}
	for _, tag := range trusted {
		for i, load := range forms(tag) {
			b.send(t, "_minion_event", "web1", load)
			for _, seen := range returnTags(t, b, events) {
				if seen != "own/tag" && seen != "salt/own/tag" && !harmless(seen, tag) {
					t.Errorf("%s, form %d: %q is on the bus", tag, i, seen)
				}
			}
		}
	}
	b.send(t, "_minion_event", "web1", one("own/tag"))
	b.send(t, "_minion_event", "web1", list("pre", "own/other"))
	if got := strings.Join(returnTags(t, b, events),
		" "); got != "own/tag own/other salt/pre/own/other own/other salt/pre/own/other" {
		t.Errorf("tags of its own: %s", got)
	}
}

// harmless reports whether a tag that came of a form is none that anybody trusts: the last part of
// one by itself, or one below another salt.
func harmless(seen, tag string) bool {
	if seen == "salt/"+tag {
		return true
	}
	for _, t := range trusted {
		if seen == t || strings.HasPrefix(seen, t+"/") {
			return false
		}
	}
	return strings.HasSuffix(tag, seen) && checkTag("web1", seen) == nil
}
