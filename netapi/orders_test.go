package netapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/master/batch"
	"github.com/brineproject/brine/payload"
)

// A busyMaster carries out an order until its context ends.
type busyMaster struct{ *fakeMaster }

func (m *busyMaster) Order(ctx context.Context, _ *data.Map) (*Answer, error) {
	<-ctx.Done()
	return nil, faultOf(ctx, ctx.Err())
}

func TestOrdersAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, fake, _ := newGate(&Door{MaxOrders: 3, MaxOrdersPerUser: 2})
		g.Master = &busyMaster{fake}
		ctx, stop := context.WithCancel(t.Context())
		chunk := data.NewMap("client", "local", "tgt", "*", "fun", "test.ping")
		order := func(user string) error {
			_, err := g.Order(ctx, Caller{Token: "cafe", User: user, From: here}, chunk)
			return err
		}
		ended := make(chan error, 3)
		for _, user := range []string{"ann", "ann", "bob"} {
			go func() { ended <- order(user) }()
			synctest.Wait()
		}
		wantFault(t, "a third order of ann", order("ann"), 429, "2 orders of user ann are under way, which is the limit")
		refused := FaultOf(order("eve"))
		wantFault(t, "a fourth order", refused, 503, "3 orders are under way, which is the limit")
		w := httptest.NewRecorder()
		if refused.SetHeaders(w.Header()); w.Header().Get("Retry-After") != "5" {
			t.Errorf("the answer has the headers %v", w.Header())
		}
		stop()
		for range 3 {
			wantFault(t, "an order whose client has gone", <-ended, statusGone, textGone)
		}
		if len(g.dispatcher.orders.each) != 0 || g.dispatcher.orders.all != 0 {
			t.Errorf("orders that have ended count: %+v", g.dispatcher.orders)
		}
	})
}

// TestWrongPasswordsDoNotBlockAUser checks that orders with a password count for their address: the name
// in them is not proved.
func TestWrongPasswordsDoNotBlockAUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, fake, _ := newGate(&Door{MaxOrders: 10, MaxOrdersPerUser: 1})
		g.Master = &busyMaster{fake}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		chunk := login("ann", "wrong")
		chunk.Update(data.NewMap("client", "local", "tgt", "*", "fun", "test.ping"))
		go g.Order(ctx, Caller{From: here}, chunk) //nolint:errcheck // it ends with the test
		synctest.Wait()
		_, err := g.Order(t.Context(), Caller{From: here}, chunk)
		wantFault(t, "the address", err, 429, "1 orders of address 127.0.0.1 are under way, which is the limit")
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = g.Order(late, Caller{Token: "cafe", User: "ann", From: here}, data.NewMap("client", "local"))
		if f := FaultOf(err); f.Status == http.StatusTooManyRequests {
			t.Errorf("ann cannot order: %v", err)
		}
	})
}

func TestATimeoutIsCut(t *testing.T) {
	o := &order{low: data.NewMap("timeout", int64(1e6), "gather_job_timeout", "90")}
	for field, want := range map[string]time.Duration{"timeout": 24 * time.Hour, "gather_job_timeout": 90 * time.Second, "none": 7} {
		if got, err := o.seconds(field, 7); got != want || err != nil {
			t.Errorf("%s is %v, %v", field, got, err)
		}
	}
}

// TestATokenIsAskedAboutOnceASecond checks what streams do for each event.
func TestATokenIsAskedAboutOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, m, _ := newGate(&Door{})
		s, err := g.LogIn(t.Context(), login("ann", "right"), here, "")
		if err != nil {
			t.Fatal(err)
		}
		token := s.Token.Value
		counted := &countingTokens{Tokens: m}
		g.Tokens = counted
		for range 100 {
			if !g.Lives(token) {
				t.Fatal("the token is not valid")
			}
		}
		if n := counted.n.Load(); n != 1 {
			t.Errorf("the token is asked about %d times", n)
		}
		delete(m.tokens, token)
		time.Sleep(askEvery)
		if g.Lives(token) || g.Lives(token) {
			t.Error("a deleted token is valid after a second")
		}
		m.life = time.Hour
		s, err = g.LogIn(t.Context(), login("ann", "right"), here, "")
		if err != nil {
			t.Fatal(err)
		}
		if !g.Lives(s.Token.Value) || g.LogOut(s) != nil || g.Lives(s.Token.Value) {
			t.Error("a token is valid at once after the logout")
		}
	})
}

type countingTokens struct {
	Tokens
	n atomic.Int32
}

func (c *countingTokens) Get(token string) (*data.Map, error) {
	c.n.Add(1)
	return c.Tokens.Get(token)
}

func TestWhoReadsAllEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _, _ := newGate(&Door{OwnEvents: true})
		g.External = data.NewMap("file", data.NewMap("wide", []any{".*"}, "reader", []any{"@events"}, "narrow", []any{"test.*",
			data.NewMap("m1", []any{".*"})}))
		for user, want := range map[string]bool{"wide": true, "reader": true, "narrow": false, "eve": false} {
			s, err := g.LogIn(t.Context(), login(user, "right"), here, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := g.ReadsAll(s.Caller(here)); got != want {
				t.Errorf("%s reads all: %v", user, got)
			}
		}
		if g.ReadsAll(Caller{Token: "cafe"}) {
			t.Error("an unknown token reads all")
		}
		g.Door.OwnEvents = false
		if !g.ReadsAll(Caller{Token: "cafe"}) {
			t.Error("events are limited without the setting")
		}
	})
}

// TestMissingOfAList checks the reasons for the minions of a list, which a Salt master does not give.
func TestMissingOfAList(t *testing.T) {
	for target, want := range map[any]string{
		"a,b": "{'a': 'it has no accepted key', 'b': 'it has no accepted key'}", "": "{}"} {
		if got := data.Repr(keyless(client.Request{Target: target, Kind: "list"})); got != want {
			t.Errorf("%v: %s", target, got)
		}
	}
	if got := keyless(client.Request{Target: "a*", Kind: "glob"}); got.Len() != 0 {
		t.Errorf("a glob names %v", got)
	}
}

// TestMissingOfABatch takes what a batch on a Salt master brings: the minions that answer and those that do
// not, and in the end the whole list of the target.
func TestMissingOfABatch(t *testing.T) {
	taker := &batchTaker{missing: data.NewMap(), known: map[string]bool{}}
	load, err := payload.MarshalBin(data.NewMap("return", true))
	if err != nil {
		t.Fatal(err)
	}
	taker.Down([]string{"down", "late"})
	taker.Silent("silent")
	for _, id := range []string{"up", "late"} {
		taker.Answered(batch.Return{Minion: id, Load: load})
	}
	taker.keyless(client.Request{Target: "up,late,down,silent,stranger", Kind: "list"}.Named())
	want := "{'down': 'it does not answer', 'silent': 'it does not answer', 'stranger': 'it has no accepted key'}"
	if got := data.Repr(taker.missing); got != want || len(taker.items) != 2 {
		t.Errorf("missing are %s of %s", got, data.Repr(taker.items))
	}
}

func TestNetwork(t *testing.T) {
	for from, want := range map[string]string{"10.0.0.1": "10.0.0.1/32", "::ffff:10.0.0.1": "10.0.0.1/32",
		"2001:db8::1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64", "::1": "::1/128"} {
		if got := Network(netip.MustParseAddr(from)).String(); got != want {
			t.Errorf("%s counts as %s, want %s", from, got, want)
		}
	}
	if Network(netip.Addr{}) != (netip.Prefix{}) {
		t.Error("no address has a network")
	}
}

// The rights of '*' are those of users without their own, as on the master; those of a token come first.
func TestRightsAreThoseOfTheMaster(t *testing.T) {
	g, _, _ := newGate(&Door{OwnEvents: true})
	g.External = data.NewMap("pam", data.NewMap("*", []any{"@events"}, "bob", []any{"test.ping"}))
	for name, c := range map[string]struct {
		token      Token
		permissive bool
		keep       bool
		want       string
	}{
		"without rights of their own": {Token{User: "ann", Eauth: "pam"}, false, true, "['@events']"},
		"with rights of their own":    {Token{User: "bob", Eauth: "pam"}, false, true, "['test.ping']"},
		"permissive_acl":              {Token{User: "bob", Eauth: "pam"}, true, true, "['test.ping', '@events']"},
		"rights of the token":         {Token{User: "ann", Eauth: "pam", Rights: []any{"@jobs"}}, true, true, "['@jobs']"},
		"no keep_acl_in_token":        {Token{User: "ann", Eauth: "pam", Rights: []any{"@jobs"}}, true, false, "['@events']"},
		"rights of an API key":        {Token{User: "ann", Eauth: "key", Rights: []any{"@jobs"}}, true, false, "['@jobs']"},
		"another system":              {Token{User: "ann", Eauth: "ldap"}, false, true, "[]"},
	} {
		g.Permissive, g.KeepACLInToken = c.permissive, c.keep
		if got := data.Repr(g.Rights(c.token)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
