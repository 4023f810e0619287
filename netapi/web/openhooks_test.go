package web

import (
	"context"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
)

// TestOpenHooksAreLimited fires events as strangers, as somebody who is logged in, and with a secret.
func TestOpenHooksAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fired := 0
		h := NewHooks(func(context.Context, string, *data.Map) error { fired++; return nil }, nil)
		send := func(n int, c netapi.Caller, secret string) (last int) {
			before := fired
			for range n {
				r := httptest.NewRequest("POST", "/hook/x", nil)
				r.Header.Set("X-Gitlab-Token", secret)
				last = statusOf(h.Fire(r, c, secret, "t", nil))
			}
			if last == 200 && fired-before != n {
				t.Errorf("%d of %d events were fired", fired-before, n)
			}
			return last
		}
		from := func(text string) netapi.Caller { return netapi.Caller{From: netip.MustParseAddr(text)} }
		logged := from("10.0.0.1")
		logged.Token = "t"
		for _, c := range []struct {
			what   string
			n      int
			from   netapi.Caller
			secret string
			want   int
		}{
			{"as many as an address may", openOfNetwork, from("10.0.0.1"), "", 200},
			{"one more", 1, from("10.0.0.1"), "", 429},
			{"another address", 1, from("10.0.0.2"), "", 200},
			{"a login", openOfNetwork + 1, logged, "", 200},
			{"a secret", openOfNetwork + 1, from("10.0.0.1"), hookSecret, 200},
			{"a network of IPv6", openOfNetwork, from("2001:db8::1"), "", 200},
			{"another address of it", 1, from("2001:db8::2"), "", 429},
			{"a proxy", openOfAll - 2*openOfNetwork - 1, from("127.0.0.1"), "", 200},
			{"one more of all", 1, from("127.0.0.1"), "", 429},
			{"a login then", 1, logged, "", 200},
		} {
			if got := send(c.n, c.from, c.secret); got != c.want {
				t.Errorf("%s: %d, want %d", c.what, got, c.want)
			}
		}
		time.Sleep(openSpan)
		if got := send(1, from("10.0.0.1"), ""); got != 200 {
			t.Errorf("later: %d", got)
		}
	})
}
