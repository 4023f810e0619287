package reactor

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestSignedOrders goes through what is changed in an order after it was signed: it proves nothing
// any more, and the key does not stand in it.
func TestSignedOrders(t *testing.T) {
	r := &Reactor{o: Options{Key: func() string { return "secret" }}}
	signed := func(change func(*data.Map)) *data.Map {
		m := data.NewMap("event", "a/*", "reactors", []any{"/srv/a.sls"}, "id", "m", "value", true)
		Sign("secret", "add", m)
		change(m)
		return m
	}
	m := signed(func(*data.Map) {})
	if !r.proves("add", m) || strings.Contains(data.Repr(m), "secret") {
		t.Errorf("what was signed: %s", data.Repr(m))
	}
	if r.proves("delete", m) {
		t.Error("it holds for another command")
	}
	for name, change := range map[string]func(*data.Map){
		"event":    func(m *data.Map) { m.Set("event", "b/*") },
		"reactors": func(m *data.Map) { m.Set("reactors", []any{"/tmp/x.sls"}) },
		"id":       func(m *data.Map) { m.Set("id", "x") },
		"value":    func(m *data.Map) { m.Set("value", false) },
		"nonce":    func(m *data.Map) { m.Delete("nonce") },
		"proof":    func(m *data.Map) { m.Set("proof", nil) },
		"no proof": func(m *data.Map) { m.Delete("proof") },
	} {
		if r.proves("add", signed(change)) {
			t.Errorf("%s is not covered", name)
		}
	}
	r.o.Key = func() string { return "" }
	none := data.NewMap()
	Sign("", "add", none)
	if r.proves("add", none) || r.proves("add", data.NewMap("key", "")) ||
		r.proves("add", data.NewMap("proof", "")) {
		t.Error("without a key somebody proves it")
	}
}
