package cluster

import (
	"time"

	"github.com/brineproject/brine/data"
)

// show returns a status as operators read it.
func (s *Status) show() *data.Map {
	m := data.NewMap("cluster", s.Name, "member", s.Member, "quorum", s.Quorum, "since", moment(s.Since))
	if !s.Quorum {
		m.Set("why", s.Why)
	}
	m.Set("leader", textOr(s.Leader))
	m.Set("members", s.showMembers())
	m.Set("nats", s.NATS.show())
	m.Set("orders_behind", int64(s.OrdersBehind))
	m.Set("returns_behind", int64(s.ReturnsBehind))
	m.Set("checked", moment(s.At))
	m.Set("returns_in_spool", int64(s.Spooled))
	m.Set("key_conflicts", int64(s.KeyConflicts))
	m.Set("keys_waiting", int64(s.KeysWaiting))
	if len(s.UnknownKeys) > 0 {
		m.Set("unknown_keys", data.Values(s.UnknownKeys))
	}
	return m
}

func (s *Status) showMembers() *data.Map {
	all := data.NewMap()
	for _, p := range s.Members {
		one := data.NewMap("state", string(p.State), "version", textOr(p.Version), "since", moment(p.Since),
			"seen", moment(p.Seen))
		if p.State == Up {
			one.Set("minions", int64(p.Minions))
		}
		all.Set(p.ID, one)
	}
	return all
}

func (n NATS) show() *data.Map {
	replicas := data.NewMap()
	for _, r := range n.Replicas {
		replicas.Set(r.Server, r.State)
	}
	return data.NewMap("address", textOr(n.Address), "server", textOr(n.Server), "version", textOr(n.Version),
		"replicas_wanted", int64(n.Wanted), "replicas", replicas)
}

// failed adds the exit code of the program salt-run.
func failed(m *data.Map, well bool) *data.Map {
	if !well {
		m.Set("retcode", int64(1))
	}
	return m
}

// textOr returns a text, or None for one that is unknown.
func textOr(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// moment returns a time as text, None for the zero time.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return utc(t)
}

func utc(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
