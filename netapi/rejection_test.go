package netapi

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

// TestTheLogSaysWhyACredentialIsRefused refuses sessions, tokens and API keys for each reason. The client is
// told what has become of its API key, and nothing of sessions.
func TestTheLogSaysWhyACredentialIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, m, log := newGate(&Door{})
		store, err := auth.OpenTokens(t.TempDir(), "sha256", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		g.Tokens = store
		refused := func(what string, err error, client, line string) {
			t.Helper()
			wantFault(t, what, err, 401, client)
			log.Reset()
			if g.Refused(here, err); !strings.Contains(log.String(), "request refused: "+line) || !strings.Contains(log.String(), "from=127.0.0.1") {
				t.Errorf("%s: the log has %q, want %q", what, log, line)
			}
			log.Reset()
			if g.Refused(here, err); log.Len() > 0 {
				t.Errorf("%s: the log has it twice: %s", what, log)
			}
		}
		key := func(name string, life time.Duration) (string, auth.APIKey) {
			t.Helper()
			secret, k, err := store.AddKey(auth.APIKey{Name: name, Rights: []any{".*"}, Expire: time.Now().Add(life)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.Key(secret, here); err != nil {
				t.Fatal(err)
			}
			return secret, k
		}
		unknown := strings.Repeat("ef", 32)
		_, err = g.Key(unknown, here)
		refused("an unknown key", err, textNoSession, `unknown (as an API key it would have the id `+auth.KeyID(unknown))
		_, err = g.Session("0123", here)
		refused("an unknown session", err, textNoSession, "unknown")
		if _, err = g.Session("", here); FaultOf(err).Err != nil {
			t.Errorf("no credential: %v", err)
		}

		secret, k := key("short", time.Hour)
		late, lateKey := key("late", time.Hour)
		time.Sleep(time.Hour)
		_, err = g.Key(secret, here)
		refused("an expired key", err, "The API key "+k.ID+" has expired", "API key "+k.ID+": expired since 2000-01-01T01:00:00Z")
		again, _, log2 := newGate(&Door{})
		again.Tokens = store
		_, err = again.Caller(late, here)
		wantFault(t, "an expired key after a restart", err, 401, "The API key "+lateKey.ID+" has expired")
		if again.Refused(here, err); !strings.Contains(log2.String(), "user=late") {
			t.Errorf("the log has %q", log2)
		}
		secret, k = key("gone", time.Hour)
		if _, err := store.DeleteKey("gone"); err != nil {
			t.Fatal(err)
		}
		_, err = g.Caller(secret, here)
		refused("a deleted key", err, "The API key "+k.ID+" has been deleted", "API key "+k.ID+": revoked")

		g.Tokens, g.TokenExpire = m, 20*time.Hour
		begin := func(old string) *Session {
			t.Helper()
			s, err := g.Enter(Proven{User: "ann", Old: old}, here)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		for why, end := range map[string]func(*Session){
			whyLoggedOut: func(s *Session) { _ = g.LogOut(s) },
			whyReplaced:  func(s *Session) { begin(s.ID) },
			whyIdle:      func(*Session) { time.Sleep(sessionIdle) },
			"expired since 2000-01-01T": func(s *Session) {
				g.sessions.byID[s.ID].Token.Expire = time.Now()
			},
		} {
			s := begin("")
			end(s)
			_, err = g.Session(s.ID, here)
			refused(why, err, textNoSession, strings.TrimSuffix(why, "2000-01-01T"))
		}
		s := begin("")
		delete(m.tokens, s.Token.Value)
		refused("a session whose token is gone", g.Confirm(s), "Authentication error occurred.", whyDeleted)

		s = begin("")
		g.Door.ACL = &ACL{users: map[string][]allowed{"*": {{from: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}}}
		_, err = g.Session(s.ID, here)
		refused("another address", err, textNoSession, whyAddress)
		_, err = g.Caller(s.Token.Value, here)
		wantFault(t, "a token from another address", err, 401, textNoSession)
	})
}

// TestTheLogSaysWhetherARefusedOrderHadAValidToken checks the line of an order that the master refuses.
func TestTheLogSaysWhetherARefusedOrderHadAValidToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, m, log := newGate(&Door{})
		s, err := g.LogIn(t.Context(), login("ann", "right"), here, "")
		if err != nil {
			t.Fatal(err)
		}
		m.err = fault(401, "Authorization error occurred.")
		order := func(want string) {
			t.Helper()
			log.Reset()
			_, err := g.Order(t.Context(), s.Caller(here), data.NewMap("client", "local", "tgt", "*", "fun", "cmd.run"))
			wantFault(t, "an order", err, 401, "Authorization error occurred.")
			if g.Refused(here, err); strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), want) {
				t.Errorf("the log has %s, want one line with %s", log, want)
			}
		}
		order("order refused: Authorization error occurred.: valid, but without the right to this")
		delete(m.tokens, s.Token.Value)
		order("order refused: Authorization error occurred.: deleted")
	})
}

func TestFewCredentialsAreRemembered(t *testing.T) {
	p := &past{}
	for i := range mostTraces + 10 {
		p.note(string(rune(i)), trace{user: "ann", why: whyIdle})
	}
	if len(p.known) > mostTraces {
		t.Errorf("%d are remembered", len(p.known))
	}
}
