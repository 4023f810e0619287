package vault

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
)

func TestCheck(t *testing.T) {
	good := data.NewMap("url", "https://v:8200", "auth", data.NewMap("method", "token", "token", "hunter2"))
	with := func(pairs ...any) *data.Map { m := good.Clone(); m.Update(data.NewMap(pairs...)); return m }
	auth := func(pairs ...any) *data.Map { return with("auth", data.NewMap(pairs...)) }
	for _, tt := range []struct {
		option any
		want   string // the text of the finding; "" means none
		fault  bool
	}{
		{good, "", false}, {nil, "", false}, {data.NewMap("config_location", "master"), "", false},
		{data.NewMap("auth", data.NewMap("uses", int64(3), "ttl", "60m")), "", false},
		{data.NewMap("driver", "vault"), "", false},
		{data.NewMap("driver", "rest", "keys", data.NewMap("url", "https://x")), "", false},
		{with("url", "http://127.0.0.1:8200"), "", false},
		{auth("method", "token", "token", "sdb://env/T"), "", false},
		{auth("method", "wrapped_token", "token", "hunter2"), "", false},
		{"hunter2", "expected a mapping", true},
		{with("url", "v:8200"), "url: expected an address of http or https", true},
		{with("url", "http://v:8200"), "url: tokens and secrets go over the network in the clear", false},
		{with("auth", "hunter2"), "auth: expected a mapping", true},
		{auth("method", "ldap"), "auth: method: there is no method of vault 'ldap'", true},
		{auth("method", "approle"), "auth: role_id is not set", true},
		{auth("method", "token"), "auth: token is not set", true},
		{auth("method", "token", "token", "hunter2", "uses", "1"), "auth: uses: expected a whole number", true},
		{auth("method", "token", "token", "hunter2", "uses", int64(-1)), "auth: uses: expected a whole number", true},
		{auth("method", "token", "token", "hunter2", "token_backend", "ram"), "token_backend: there is no", true},
		{auth("method", "token", "token", "hunter2", "allow_minion_override", "yes"), "expected True or False", true},
		{with("verify", int64(1)), "verify: expected True, False", true},
		{with("policies", "saltstack"), "policies: expected a list", true},
		{with("policies", []any{"a", "{x}"}), "policies: entry 2: {x} of {x} is not {minion}", true},
		{with("policies_refresh_pillar", "no"), "policies_refresh_pillar: expected True or False", true},
		{with("policies_cache_time", "1m"), "policies_cache_time: expected a whole number", true},
		{with("config_location", "minion"), "config_location: there is no", true},
		{with("keys", "hunter2"), "keys: expected a list of keys", true},
	} {
		err := Check(data.NewMap("vault", tt.option))
		text := ""
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, tt.want) || tt.want == "" && err != nil || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %q, want %q", data.Repr(tt.option), text, tt.want)
		}
		if got := config.Faults(err) != nil; got != tt.fault {
			t.Errorf("%s: fault %v", data.Repr(tt.option), got)
		}
	}
}
