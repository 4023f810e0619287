package auth

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestPeersAllow(t *testing.T) {
	p, err := ReadPeers(data.NewMap("web1",
		[]any{`test\.ping`, "network", data.NewMap("*", []any{"cmd.run"})}, "db.*", []any{".*"},
		"one", "test.arg", "(", []any{".*"}, "x", []any{"("}))
	if err == nil || !strings.Contains(err.Error(), "(: '(' is no regular") ||
		!strings.Contains(err.Error(), "x: entry 1: '('") {
		t.Errorf("what cannot be read is not told of: %v", err)
	}
	for _, tt := range []struct {
		id, fun string
		want    bool
	}{
		{"web1", "test.ping", true}, {"web1", "test.pinger", false}, {"web1",
			"network.ip_addrs", false}, {"web1", "cmd.run", false},
		{"web10", "test.ping", false}, {"xweb1", "test.ping", false}, {"db7", "anything", true},
		{"one", "test.arg", true}, {"one", "t", false},
		{"(", "test.ping", false}, {"x", "test.ping", false}, {"", "test.ping", false}, {"web1", "", false},
	} {
		if got := p.Allow(tt.id, tt.fun); got != tt.want {
			t.Errorf("Allow(%q, %q) = %v", tt.id, tt.fun, got)
		}
	}
	if none, err := ReadPeers(nil); err != nil || none.Allow("web1", "test.ping") {
		t.Errorf("no option allows, or fails: %v", err)
	}
}

func TestPeerMayPublish(t *testing.T) {
	g := &Gate{}
	g.held.Store(&held{Options: Options{Targets: func(string) ([]string, error) { return []string{"db1"}, nil }}})
	p, err := ReadPeers(data.NewMap("web1",
		[]any{"test.ping", "publish.publish", data.NewMap("db*", []any{"cmd.run"})}, "all", []any{".*"},
		"layered", data.NewMap("db*", []any{"test.*", "pkg.*"}, "web*", []any{"network.*"}), "keys",
		data.NewMap("test.ping", nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, id string
		p        Publication
		want     bool
	}{
		{"targets as a mapping", "layered", Publication{Fun: "test.ping", Minions: []string{"db1"}}, true},
		{"targets as a mapping, another function",
			"layered", Publication{Fun: "cmd.run", Minions: []string{"db1"}}, false},
		{"targets as a mapping, another minion",
			"layered", Publication{Fun: "test.ping", Minions: []string{"db1", "web1"}}, false},
		{"a mapping of functions", "keys", Publication{Fun: "test.ping", Minions: []string{"web1"}}, true},
		{"allowed for all", "web1", Publication{Fun: "test.ping", Minions: []string{"a", "b"}}, true},
		{"allowed for some", "web1", Publication{Fun: "cmd.run", Arg: []any{"id"},
			Minions: []string{"db1"}}, true},
		{"not for others", "web1", Publication{Fun: "cmd.run", Arg: []any{"id"},
			Minions: []string{"db1", "a"}}, false},
		{"not for nobody", "web1", Publication{Fun: "cmd.run", Minions: nil}, false},
		{"several", "web1", Publication{Fun: []any{"test.ping", "cmd.run"},
			Arg: []any{[]any{}, []any{}}, Minions: []string{"db1"}}, true},
		{"several, one of them not", "web1",
			Publication{Fun: []any{"test.ping", "cmd.script"}, Minions: []string{"db1"}}, false},
		{"a publication that a rule names",
			"web1", Publication{Fun: "publish.publish", Minions: []string{"db1"}}, false},
		{"a publication among others", "all", Publication{Fun: []any{"test.ping", "publish.runner"},
			Minions: []string{"db1"}}, false},
		{"find_job without a rule", "web1", Publication{Fun: findJob, Minions: []string{"db1"}}, false},
		{"find_job with one", "all", Publication{Fun: findJob, Minions: []string{"db1"}}, true},
		{"no rules at all", "other", Publication{Fun: "test.ping", Minions: []string{"db1"}}, false},
		{"no function", "all", Publication{Fun: nil, Minions: []string{"db1"}}, false},
	} {
		if got := g.PeerMayPublish(p, tt.id, tt.p); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
