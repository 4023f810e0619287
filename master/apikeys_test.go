package master

import (
	"testing"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

// TestAPIKeyHasItsOwnRights gives orders with API keys over a socket: what external_auth and
// publisher_acl give their user does not count, with and without keep_acl_in_token.
func TestAPIKeyHasItsOwnRights(t *testing.T) {
	for _, keep := range []bool{false, true} {
		b := newBench(t, func(c *config.Master) {
			allToFred(c)
			c.KeepACLInToken = keep
			c.PublisherACL = data.NewMap("fred", []any{".*", "@runner", "@wheel"})
		}, "web1")
		b.listen(t)
		tokens := b.parts.gate.Tokens()
		key := func(name string, rights ...any) string {
			secret, _, err := tokens.AddKey(auth.APIKey{Name: name, User: "fred", Rights: rights})
			must(t, err)
			return secret
		}
		b.doesAll(t, key("all", ".*", "@runner", "@wheel"))
		load := data.NewMap("cmd", "runner", "fun", "auth.mk_key", "token", key("maker", "@runner", "@auth", data.NewMap("@runner", "auth.*")),
			"kwarg", data.NewMap("name", "x", "rights", ".*"))
		if reply := b.clear(t, load); did("runner", reply) {
			t.Errorf("a rule allows to make keys, and so to have any right: %s", data.Repr(reply))
		}
		narrow := key("narrow", data.NewMap("web*", []any{"test.version"}), "@jobs")
		for _, cmd := range []string{"publish", "runner", "wheel"} {
			if reply := b.clear(t, b.orders(t, data.NewMap("token", narrow))[cmd]); did(cmd, reply) {
				t.Errorf("keep_acl_in_token %v: %s is not in the scope: %s", keep, cmd, data.Repr(reply))
			}
		}
		if reply := b.clear(t, b.with("web1", "test.version", data.NewMap("token", narrow))); jidOf(reply) == nil {
			t.Errorf("test.version is in the scope: %s", data.Repr(reply))
		}
		for _, fun := range []string{"auth.mk_key", "auth.mk_token", "auth.list_keys"} {
			load := data.NewMap("cmd", "runner", "fun", fun, "token", narrow, "kwarg", data.NewMap("name", "x", "rights", ".*"))
			if reply := b.clear(t, load); did("runner", reply) {
				t.Errorf("%s: %s", fun, data.Repr(reply))
			}
		}
		load = data.NewMap("cmd", "mk_token", "token", narrow, "eauth", "key", "username", "fred", "password", narrow)
		if m, _ := b.clear(t, load).(*data.Map); m.Has("token") {
			t.Errorf("a key makes a token: %s", data.Repr(m))
		}
		files, err := tokens.List()
		must(t, err)
		for _, file := range files {
			for cmd, load := range b.orders(t, data.NewMap("token", file)) {
				if reply := b.clear(t, load); did(cmd, reply) {
					t.Errorf("%s with the name of a file: %s", cmd, data.Repr(reply))
				}
			}
		}
		_, err = tokens.DeleteKey("narrow")
		must(t, err)
		if reply := b.clear(t, b.with("web1", "test.version", data.NewMap("token", narrow))); jidOf(reply) != nil {
			t.Error("a deleted key gives an order")
		}
	}
}
