package channel

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// encryptedCommands are all that minions of any release send.
var encryptedCommands = []string{"_return", "_syndic_return", "_pillar", "_minion_event",
	"_handle_minion_event", "_mine", "_mine_get", "_mine_delete", "_mine_flush", "_file_recv",
	"_serve_file", "_file_find", "_file_hash", "_file_hash_and_stat", "_file_list",
	"_file_list_emptydirs", "_dir_list", "_symlink_list", "_file_envs", "_master_opts",
	"_master_tops", "_ext_nodes", "verify_minion", "minion_runner", "minion_pub", "minion_publish",
	"pub_ret", "revoke_auth", "_register_resources", "nosuch"}

// forger makes requests of two accepted minions, the victim web1 and the attacker web2.
type forger struct {
	*rig
	victimToken, token []byte
	nonces             int
}

func newForger(t testing.TB, o ServerOptions) *forger {
	t.Helper()
	f := &forger{rig: newRig(t, rigOptions{server: o})}
	f.accept("web1", "minion")
	f.accept("web2", "minion2")
	f.handler.proof = withProof
	f.handler.effect = map[string]bool{"_return": true, "_minion_event": true}
	f.handler.encrypted = func(*Command) (any, error) { return "done", nil }
	var err error
	f.victimToken, err = f.ring["minion"].EncryptX931([]byte("salt"))
	must(t, err)
	f.token, err = f.ring["minion2"].EncryptX931([]byte("salt"))
	must(t, err)
	return f
}

// key returns the key of requests of a version: version 3 has one for each minion.
func (f *forger) key(version int, id string) *crypto.Crypticle {
	f.t.Helper()
	if version < 3 {
		return f.secrets.Shared()
	}
	c, err := f.secrets.Session(id)
	must(f.t, err)
	return c
}

func (f *forger) nonce() string {
	f.nonces++
	return fmt.Sprintf("%032x", f.nonces)
}

// envelope encrypts a load, to which it adds a nonce and a time.
func (f *forger) envelope(version int, outerID string, key *crypto.Crypticle, load *data.Map) []byte {
	f.t.Helper()
	load = load.Clone()
	load.Set("nonce", f.nonce())
	load.Set("ts", time.Now().Unix())
	outer := data.NewMap("enc", "aes", "load", key.Seal(marshal(load), ""), "version", int64(version))
	if outerID != "" {
		outer.Set("id", outerID)
	}
	return marshal(outer)
}

// honest is a request of the victim itself.
func (f *forger) honest(version int, cmd string) []byte {
	return f.envelope(version, "web1", f.key(version, "web1"),
		data.NewMap("cmd", cmd, "id", "web1", "tok", f.victimToken))
}

// at is a return of minion id under version 3 that was made at a time; the zero time is none.
func (f *forger) at(now time.Time, id string, token []byte) []byte {
	load := data.NewMap("cmd", "_return", "id", id, "tok", token, "nonce", f.nonce())
	if !now.IsZero() {
		load.Set("ts", now.Unix())
	}
	return marshal(data.NewMap("enc", "aes", "load", f.key(3, id).Seal(marshal(load), ""),
		"version", int64(3), "id", id))
}

// attacks returns requests by which web2 tries to act as web1.
func (f *forger) attacks(version int, cmd string) map[string][]byte {
	junk := make([]byte, 256)
	rand.Read(junk)
	attacks := map[string][]byte{}
	own := f.key(version, "web2")
	tokens := map[string]any{"own token": f.token, "junk token": junk, "null token": nil,
		"list token": []any{f.token}, "empty token": "", "short token": f.token[1:],
		"text token": "salt", "map token": data.NewMap("tok", f.token), "true token": true}
	for name, token := range tokens {
		load := data.NewMap("cmd", cmd, "id", "web1", "tok", token)
		attacks[name+", outer id own"] = f.envelope(version, "web2", own, load)
		attacks[name+", outer id of the victim"] = f.envelope(version, "web1", own, load)
		attacks[name+", session key stolen"] = f.envelope(version, "web1", f.key(version, "web1"), load)
	}
	attacks["no token, session key stolen"] = f.envelope(version, "web1", f.key(version, "web1"),
		data.NewMap("cmd", cmd, "id", "web1"))
	attacks["no inner id"] = f.envelope(version, "web1", f.key(version, "web1"),
		data.NewMap("cmd", cmd, "tok", f.token))
	attacks["no token, outer id own"] = f.envelope(version, "web2", own,
		data.NewMap("cmd", cmd, "id", "web1"))
	attacks["no token, outer id of the victim"] = f.envelope(version, "web1", own,
		data.NewMap("cmd", cmd, "id", "web1"))
	attacks["no outer id"] = f.envelope(version, "", own,
		data.NewMap("cmd", cmd, "id", "web1", "tok", f.token))
	attacks["outer id of the victim, inner id own"] = f.envelope(version, "web1", own,
		data.NewMap("cmd", cmd, "id", "web2", "tok", f.token))
	return attacks
}

// TestCVE2013_4439 is the matrix of every encrypted command and every way to claim another's id
// (also CVE-2024-38822 and, by the lower versions, CVE-2025-62349).
func TestCVE2013_4439(t *testing.T) {
	for _, version := range []int{0, 1, 2, 3, 4} {
		f := newForger(t, ServerOptions{})
		for _, cmd := range encryptedCommands {
			for name, body := range f.attacks(version, cmd) {
				f.handler.calls = nil
				reply := f.ask(body)
				for _, c := range f.handler.seen() {
					if version >= 3 || c.Caller.ID == "web1" && (c.Caller.Proved || withProof[cmd]) {
						t.Errorf("version %d, %s, %s: %+v reaches the handler", version, cmd, name, c.Caller)
					}
					if c.Load.Has("tok") {
						t.Errorf("version %d, %s, %s: the token reaches the handler", version, cmd, name)
					}
				}
				if version >= 3 && decoded(t, reply) != string(replyBadLoad) {
					t.Errorf("version %d, %s, %s: reply %q", version, cmd, name, reply)
				}
			}
			f.handler.calls = nil
			f.ask(f.honest(version, cmd))
			if calls := f.handler.seen(); len(calls) != 1 || !calls[0].Caller.Proved ||
				calls[0].Caller.ID != "web1" {
				t.Errorf("version %d, %s: the victim's own request is not done: %+v", version, cmd, calls)
			}
		}
	}
}

// A token that comes with version 2 must be good, also where none is needed.
func TestBadTokenOfVersion2IsRefused(t *testing.T) {
	f := newForger(t, ServerOptions{})
	for name, body := range f.attacks(2, "_file_hash") {
		if strings.HasPrefix(name, "no token") || strings.Contains(name, "inner id own") {
			continue
		}
		if reply := f.ask(body); decoded(t, reply) != string(replyBadLoad) || len(f.handler.seen()) > 0 {
			t.Errorf("%s: reply %q", name, reply)
		}
	}
}

// TestCVE2024_38823: the same bytes sent again have no second effect.
func TestCVE2024_38823(t *testing.T) {
	for _, version := range []int{2, 3} {
		f := newForger(t, ServerOptions{})
		for _, cmd := range []string{"_return", "_minion_event"} {
			f.handler.calls = nil
			body := f.honest(version, cmd)
			for i, want := range []any{"done", nil, nil} {
				blob, _ := payload.Bytes(f.ask(bytes.Clone(body)))
				plain, err := f.key(version, "web1").Open(blob, fmt.Sprintf("%032x", f.nonces))
				if err != nil || decoded(t, plain) != want {
					t.Errorf("version %d, %s, time %d: reply %q, %v", version, cmd, i+1, plain, err)
				}
			}
			if calls := f.handler.seen(); len(calls) != 1 {
				t.Errorf("version %d, %s: done %d times", version, cmd, len(calls))
			}
		}
		f.handler.calls = nil
		body := f.honest(version, "_file_hash")
		f.ask(bytes.Clone(body))
		f.ask(body)
		if len(f.handler.seen()) != 2 {
			t.Errorf("version %d: a request without effect is not answered again", version)
		}
	}
}

// TestThreatReplayAtAnotherMaster sends a recorded request to another master of a cluster, which has the same
// shared session key.
func TestThreatReplayAtAnotherMaster(t *testing.T) {
	var told []RequestID
	f := newForger(t, ServerOptions{Executed: func(r RequestID) { told = append(told, r) }})
	for _, cmd := range []string{"_return", "_minion_event"} {
		told, f.handler.calls = nil, nil
		body := f.honest(2, cmd)
		f.ask(bytes.Clone(body))
		if len(told) != 1 {
			t.Fatalf("%s: %d requests are told to the other masters", cmd, len(told))
		}
		f.server.seen = newNonces(64, nil) // now it is another master
		f.server.Remember(told[0])
		blob, _ := payload.Bytes(f.ask(bytes.Clone(body)))
		plain, err := f.key(2, "web1").Open(blob, fmt.Sprintf("%032x", f.nonces))
		if calls := f.handler.seen(); len(calls) != 1 || err != nil || decoded(t, plain) != nil {
			t.Errorf("%s: done %d times, reply %q, %v", cmd, len(calls), plain, err)
		}
		f.ask(f.honest(2, cmd))
		if calls := f.handler.seen(); len(calls) != 2 {
			t.Errorf("%s: the next request is not done", cmd)
		}
	}
	told = nil
	f.ask(f.honest(3, "_return"))    // under a key of this master alone
	f.ask(f.honest(2, "_file_hash")) // has no effect
	f.handler.encrypted = func(*Command) (any, error) { return nil, errors.New("the disk is full") }
	f.ask(f.honest(2, "_return")) // the minion may have to send it again
	if len(told) > 0 {
		t.Errorf("%d requests are told that need not be", len(told))
	}
}

// TestThreatReplayOfForgottenRequest sends a recorded request of version 3 again after so many
// others that its nonce is forgotten. It is refused whatever request_server_ttl is, and the clock
// of another minion does not matter.
func TestThreatReplayOfForgottenRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForger(t, ServerOptions{})
		f.server.seen = newNonces(64, f.secrets.outdate)
		done := func(body []byte) bool {
			before := len(f.handler.seen())
			f.ask(bytes.Clone(body))
			return len(f.handler.seen()) > before
		}
		others := func() {
			for range 200 {
				ahead := f.at(time.Now().Add(time.Hour), "web2", f.token)
				if !done(ahead) {
					t.Fatal("the other minion is refused")
				}
				time.Sleep(time.Second)
			}
		}
		for _, first := range []string{"the recorded one", "one without a time"} {
			recorded := f.honest(3, "_return")
			if !done(recorded) || done(recorded) {
				t.Fatal("a request is not done once")
			}
			others()
			if !done(f.honest(3, "_return")) {
				t.Error("a new request of the minion is not done")
			}
			if first == "one without a time" {
				recorded = f.at(time.Time{}, "web1", f.victimToken)
			}
			if reply := decoded(t, f.ask(bytes.Clone(recorded))); reply != string(replyBadLoad) ||
				done(recorded) {
				t.Errorf("%s is done again, or answered %v", first, reply)
			}
			time.Sleep(time.Minute)
		}
		if log := f.logged(); strings.Count(log, "may be a replay") != 2 || !strings.Contains(log, "web1") {
			t.Errorf("the log says:\n%s", log)
		}
	})
}

// A minion whose clock was set back is refused under its session key, and served under the next.
func TestClockThatWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, ClientOptions{Tries: 1, AuthTries: 1})
		p.handler.effect = map[string]bool{"_file_hash": true}
		p.server.seen = newNonces(64, p.secrets.outdate)
		must(t, p.call())
		key, err := p.secrets.Existing("web1")
		must(t, err)
		for id := range 200 {
			p.server.seen.add("web1", fmt.Sprint(id), mark{key, time.Now().Add(time.Hour).Unix()})
		}
		before := p.signIns.Load()
		must(t, p.call())
		must(t, p.call())
		if n := p.signIns.Load() - before; n != 1 || p.client.Credentials().Session.Key() == key.Key() {
			t.Errorf("%d sign-ins, and the session key is another one: %v", n,
				p.client.Credentials().Session.Key() != key.Key())
		}
	})
}

// The version of a request stands outside of what is encrypted: who changes it gets nothing done
// twice.
func TestReplayUnderAnotherVersion(t *testing.T) {
	f := newForger(t, ServerOptions{Admission: Admission{MinimumVersion: 0}})
	for _, first := range []int{0, 1, 2, 3} {
		for _, then := range []int{0, 1, 2, 3, 4} {
			f.handler.calls = nil
			body := f.honest(first, "_return")
			f.ask(bytes.Clone(body))
			outer := asMap(t, decoded(t, body))
			outer.Set("version", int64(then))
			outer.Set("id", "web1")
			f.ask(marshal(outer))
			if n := len(f.handler.seen()); n != 1 {
				t.Errorf("sent under version %d and then %d: done %d times", first, then, n)
			}
		}
	}
}

// What a peer does over and over is logged once a minute, whatever it calls itself.
func TestStrangersDoNotFillTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForger(t, ServerOptions{})
		for minute := range 2 {
			for i := range 20 {
				f.ask(f.signInOf("web1", "other", 3))
				f.ask(f.signInOf(fmt.Sprintf("../%d", i), "other", 3))
				f.ask(f.envelope(2, "web1", f.secrets.Shared(),
					data.NewMap("cmd", "_return", "id", "web1", "tok", f.token)))
			}
			warnings := map[string]int{}
			for _, e := range f.logs.AllEntries() {
				if e.Level <= logrus.WarnLevel {
					warnings[strings.Fields(e.Message)[0]]++
				}
			}
			for _, kind := range []string{"Sign-in", "Encrypted"} {
				if warnings[kind] != minute+1 {
					t.Errorf("minute %d: %v", minute, warnings)
				}
			}
			if len(warnings) > 3 || warnings["process"] > minute+1 {
				t.Errorf("minute %d: %v", minute, warnings)
			}
			time.Sleep(time.Minute + time.Second)
		}
	})
}

// TestReplayAfterRestart sends what was recorded to a master that has forgotten what it did.
func TestReplayAfterRestart(t *testing.T) {
	for _, version := range []int{2, 3} {
		f := newForger(t, ServerOptions{})
		body := f.honest(version, "_return")
		f.ask(bytes.Clone(body))
		if n := len(f.handler.seen()); n != 1 {
			t.Fatalf("version %d: done %d times before the restart", version, n)
		}
		var err error
		f.secrets, err = NewSecrets(f.root, 0)
		must(t, err)
		f.signIn = NewSignInServer(f.ring["master"], f.pki, f.secrets, f.signIn.opts)
		f.server = NewServer(f.ring["master"], f.pki, f.secrets, f.signIn, f.handler, f.server.opts)
		for range 2 {
			if reply := decoded(t, f.ask(bytes.Clone(body))); reply != string(replyBadLoad) ||
				len(f.handler.seen()) != 1 {
				t.Errorf("version %d: reply %v, done %d times", version, reply, len(f.handler.seen()))
			}
			_, err := f.secrets.Session("web1") // the minion signs in again
			must(t, err)
		}
		f.ask(f.honest(version, "_return"))
		if len(f.handler.seen()) != 2 {
			t.Errorf("version %d: a new request is not done", version)
		}
	}
}

// TestThreatUnprovedRequestBelowProvedVersion sends requests in the name of a minion, under the key
// that all minions share, after the minion has proved itself by a higher version.
func TestThreatUnprovedRequestBelowProvedVersion(t *testing.T) {
	for _, tt := range []struct {
		proved, then int // versions
		proof        bool
		done         bool
	}{
		{3, 2, false, false}, {3, 1, false, false}, {9, 2, false, false},
		{2, 1, false, true}, {2, 2, false, true}, {1, 2, false, true}, {3, 2, true, true}, {9, 3, true, true},
	} {
		versions, err := pki.OpenVersions(t.TempDir())
		must(t, err)
		f := newForger(t, ServerOptions{Versions: versions})
		f.handler.proof = nil
		f.ask(f.honest(tt.proved, "_return"))
		f.handler.calls = nil
		load := data.NewMap("cmd", "_return", "id", "web1")
		if tt.proof {
			load.Set("tok", f.victimToken)
		}
		reply := f.ask(f.envelope(tt.then, "web1", f.key(tt.then, "web1"), load))
		if done := len(f.handler.seen()) == 1; done != tt.done ||
			!done && decoded(t, reply) != string(replyBadLoad) {
			t.Errorf("proved by version %d, then a request of version %d with proof %v: done %v",
				tt.proved, tt.then, tt.proof, done)
		}
		if !tt.done && !strings.Contains(f.logged(), "has proved its id with protocol version") {
			t.Errorf("the log says:\n%s", f.logged())
		}
		f.handler.calls = nil
		f.ask(f.envelope(2, "", f.secrets.Shared(), data.NewMap("cmd", "_return", "id", "web2")))
		if len(f.handler.seen()) != 1 {
			t.Error("a minion that never proved itself is refused")
		}
	}
}

// A stranger that has no proof cannot use up the nonce of another's request.
func TestUnprovedRequestTakesNoNonce(t *testing.T) {
	f := newForger(t, ServerOptions{})
	f.ask(f.envelope(2, "", f.secrets.Shared(), data.NewMap("cmd", "_minion_event", "id", "web1")))
	f.nonces--
	f.ask(f.honest(2, "_minion_event"))
	if len(f.handler.seen()) != 1 {
		t.Error("the request was taken for a repetition")
	}
}

func TestRequestTTL(t *testing.T) {
	f := newForger(t, ServerOptions{Admission: Admission{RequestTTL: time.Minute}})
	send := func(ts any) string {
		load := data.NewMap("cmd", "_return", "id", "web1", "tok", f.victimToken, "nonce", f.nonce())
		if ts != nil {
			load.Set("ts", ts)
		}
		body := marshal(data.NewMap("enc", "aes", "load", f.key(3, "web1").Seal(marshal(load), ""),
			"version", int64(3), "id", "web1"))
		text, _ := payload.Text(f.ask(body))
		return text
	}
	now := time.Now().Unix()
	for _, ts := range []any{nil, "x", now - 100, int64(-1 << 62), int64(0), []any{}, now + 400,
		int64(1 << 62), int64(1<<63 - 1)} {
		if got := send(ts); got != string(replyBadLoad) {
			t.Errorf("time %v: reply %q", ts, got)
		}
	}
	for _, ts := range []any{now, now - 30, now + 30, now + 200} {
		if got := send(ts); got == string(replyBadLoad) {
			t.Errorf("time %v is refused", ts)
		}
	}
}

// TestCVE2025_62349: a lower version does not get by the checks of a higher one, and the log says
// which setting would.
func TestCVE2025_62349(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newForger(t, ServerOptions{Admission: Admission{MinimumVersion: 3}})
		f.handler.clear = func(*Command) (any, error) { return "done", nil }
		load := func() *data.Map {
			return data.NewMap("cmd", "_auth", "id", "web9\x1b[2J", "pub", f.ring.pub("other"),
				"nonce", f.nonce())
		}
		for _, version := range []int{0, 1, 2} {
			for name, body := range map[string][]byte{
				"encrypted": f.honest(version, "_return"),
				"sign-in":   marshal(data.NewMap("enc", "clear", "load", load(), "version", int64(version))),
				"clear": marshal(data.NewMap("enc", "clear", "load", data.NewMap("cmd", "ping"),
					"version", int64(version))),
			} {
				if reply := f.ask(body); decoded(t, reply) != string(replyBadLoad) {
					t.Errorf("version %d, %s: reply %q", version, name, reply)
				}
			}
		}
		if _, _, err := f.pki.Find("web9"); err != nil || len(f.handler.seen()) > 0 || len(f.events) > 0 {
			t.Error("a refused request had an effect")
		}
		log := f.logged()
		if n := strings.Count(log, "minimum_auth_version: "); n != 1 ||
			!strings.Contains(log, "192.0.2.7") || strings.Contains(log, "\x1b") {
			t.Errorf("%d lines name the setting:\n%s", n, log)
		}
		time.Sleep(time.Hour + time.Second)
		f.ask(f.honest(2, "_return"))
		if n := strings.Count(f.logged(), "set minimum_auth_version: 2"); n == 0 {
			t.Error("nothing is said again after an hour")
		}
	})
}

// What one minion was given opens nothing of another under version 3 (threat: shared session key).
func TestSessionKeysDiffer(t *testing.T) {
	f := newForger(t, ServerOptions{})
	env, err := payload.ParseEnvelope(f.honest(3, "_return"), payload.WireLimits())
	must(t, err)
	blob, _ := env.Blob()
	for _, key := range []*crypto.Crypticle{f.key(3, "web2"), f.secrets.Shared()} {
		if _, err := key.Open(blob, ""); err == nil {
			t.Error("another key opens a request of version 3")
		}
	}
}

// A key that the operator deletes, rejects or replaces counts for nothing from the next request on.
func TestDeletedKeyIsRefusedAtOnce(t *testing.T) {
	f := newForger(t, ServerOptions{})
	path := filepath.Join(f.pki.Path(), "minions", "web1")
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(path, old, old))
	ask := func() bool { return decoded(t, f.ask(f.honest(3, "_return"))) != string(replyBadLoad) }
	if !ask() || !ask() {
		t.Fatal("an accepted minion is refused")
	}
	must(t, f.pki.Move("web1", pki.Accepted, pki.Rejected))
	if ask() {
		t.Error("a rejected minion is served")
	}
	must(t, f.pki.Move("web1", pki.Rejected, pki.Accepted))
	if !ask() {
		t.Error("a minion accepted again is refused")
	}
	must(t, f.pki.Put(pki.Accepted, "web1", f.ring.pub("minion4096")))
	if ask() {
		t.Error("the token of a replaced key is believed")
	}
	must(t, f.pki.Delete(pki.Accepted, "web1"))
	if ask() {
		t.Error("a deleted minion is served")
	}
}

// TestCVE2017_14696: all fields of a sign-in with all types, and none, are answered.
func TestCVE2017_14696(t *testing.T) {
	f := newForger(t, ServerOptions{})
	big := strings.Repeat("x", 1<<20)
	values := []any{nil, true, false, int64(0), int64(-1), int64(1) << 62, 1.5, "", "a\x00b",
		"../../x", "a/b", `a\b`, "..", ".", ".hidden", "\u202eabc",
		"a\nb", big, []byte{0xff, 0xfe}, make([]byte, 1000), []any{}, []any{"x"},
		[]any{[]any{[]any{}}}, data.NewMap(), data.NewMap("a", data.NewMap("b", int64(1))),
		data.Timestamp{Seconds: 1}, strings.Repeat("x", 255), strings.Repeat("x", 256)}
	for _, version := range []any{nil, int64(0), int64(2), int64(3), "3", []any{}, int64(-1), 1.5,
		int64(1) << 40} {
		for _, field := range []string{"cmd", "id", "pub", "nonce", "token", "enc_algo", "sig_algo",
			"autosign_grains"} {
			for _, value := range append(values, absent{}) {
				load := data.NewMap("cmd", "_auth", "id", "web9", "nonce", f.nonce(),
					"pub", f.ring.pub("other"))
				load.Set(field, value)
				if _, gone := value.(absent); gone {
					load.Delete(field)
				}
				env := data.NewMap("enc", "clear", "load", load)
				if version != nil {
					env.Set("version", version)
				}
				reply := f.ask(marshal(env))
				if _, err := payload.Unmarshal(reply, payload.WireLimits()); err != nil {
					t.Errorf("%s = %.40q: reply %q", field, data.Repr(value), reply)
				}
			}
		}
	}
	for _, state := range pki.States() {
		for _, id := range folder(t, f.rig, state) {
			if err := pki.ValidID(id.(string)); err != nil {
				t.Errorf("a key is stored in %s for %q", state, id)
			}
		}
	}
	for _, line := range strings.Split(f.logged(), "\n") {
		if strings.ContainsAny(line, "\x00\x1b\u202e") || strings.HasPrefix(line, "b") {
			t.Errorf("text of a stranger stands in the log as it came: %.80q", line)
		}
	}
	if len(asMap(t, decoded(t, f.ask(f.signInOf("web1", "minion", 3)))).Keys()) != 3 {
		t.Error("a good sign-in afterwards is not answered")
	}
}

type absent struct{}

// signInOf is a plain sign-in.
func (f *forger) signInOf(id, key string, version int) []byte {
	load := data.NewMap("cmd", "_auth", "id", id, "nonce", f.nonce(), "pub", f.ring.pub(key))
	return marshal(data.NewMap("enc", "clear", "load", load, "version", int64(version)))
}

// Names of algorithms that the master does not know are answered as newer masters do, and cost no
// worker.
func TestUnknownAlgorithms(t *testing.T) {
	f := newForger(t, ServerOptions{})
	for _, field := range []string{"enc_algo", "sig_algo"} {
		load := data.NewMap("cmd", "_auth", "id", "web1", "nonce", f.nonce(),
			"pub", f.ring.pub("minion"), field, "ROT13")
		reply := asMap(t, decoded(t, f.ask(marshal(data.NewMap("enc", "clear", "load", load,
			"version", int64(3))))))
		if want := "bad " + strings.Replace(field, "_", " ", 1); asMap(t,
			reply.Value("load")).Text("ret") != want {
			t.Errorf("reply is %s, want %s", data.Repr(reply), want)
		}
	}
}

// TestCVE2023_20897: what panics or is malformed costs no worker.
func TestCVE2023_20897(t *testing.T) {
	f := newForger(t, ServerOptions{})
	boom := func(*Command) (any, error) { panic("boom") }
	f.handler.encrypted, f.handler.clear = boom, boom
	key := f.key(3, "web1")
	blob, _ := payload.Bytes(f.ask(f.honest(3, "_return")))
	if plain, err := key.Open(blob, fmt.Sprintf("%032x", f.nonces)); err != nil || decoded(t, plain) != "" {
		t.Errorf("an encrypted command that panics is answered %q, %v", plain, err)
	}
	ping := marshal(data.NewMap("enc", "clear", "load", data.NewMap("cmd", "ping"), "version", int64(3)))
	if reply := decoded(t, f.ask(ping)); reply != string(replyException) {
		t.Errorf("a clear command that panics is answered %v", reply)
	}
	f.handler.encrypted = func(*Command) (any, error) { return make(chan int), nil }
	f.handler.clear = func(*Command) (any, error) { return make(chan int), nil }
	if reply := decoded(t, f.ask(ping)); reply != string(replyException) {
		t.Errorf("a reply that cannot be encoded is answered %v", reply)
	}
	blob, _ = payload.Bytes(f.ask(f.honest(3, "_return")))
	if plain, err := key.Open(blob, fmt.Sprintf("%032x", f.nonces)); err != nil || decoded(t, plain) != "" {
		t.Errorf("an encrypted reply that cannot be encoded is answered %q, %v", plain, err)
	}
	f.handler.encrypted = func(*Command) (any, error) { return Private{"pillar", make(chan int)}, nil }
	if reply := asMap(t, decoded(t, f.ask(f.honest(3, "_pillar")))); reply.Text("error") != "bad load" {
		t.Errorf("a private reply that cannot be encoded is answered %s", data.Repr(reply))
	}
	f.handler.clear = func(*Command) (any, error) { return "pong", nil }
	if reply := decoded(t, f.ask(ping)); reply != "pong" {
		t.Errorf("the next request is answered %v", reply)
	}
}

// Only those who proved something raise their limits in the transport and are noted as present: a
// sign-in, which whoever has the public key of a minion can send, does not.
func TestTrust(t *testing.T) {
	noted := ""
	f := newForger(t, ServerOptions{OnRequest: func(id string, _ net.Addr) { noted = id }})
	for name, tt := range map[string]struct {
		body []byte
		want bool
	}{
		"accepted sign-in": {f.signInOf("web1", "minion", 3), false},
		"pending sign-in":  {f.signInOf("web9", "other", 3), false},
		"denied sign-in":   {f.signInOf("web1", "other", 3), false},
		"clear": {marshal(data.NewMap("enc", "clear", "load", data.NewMap("cmd", "ping"),
			"version", int64(3))), false},
		"garbage":        {[]byte("\xc1"), false},
		"proved request": {f.honest(3, "_return"), true},
		"forged request": {f.envelope(3, "web1", f.key(3, "web2"),
			data.NewMap("cmd", "_return", "id", "web1", "tok", f.token)), false},
	} {
		noted = ""
		r := &fakeRequest{body: tt.body}
		f.server.Handle(context.Background(), r)
		if r.trusted != tt.want || (noted == "web1") != tt.want {
			t.Errorf("%s: trusted is %v, and %q is said to be there", name, r.trusted, noted)
		}
	}
}

// The token of a minion is the same for ever: who has it, as by a recording of older versions, must
// not act as the minion under a session key of another.
func TestStolenToken(t *testing.T) {
	f := newForger(t, ServerOptions{})
	body := f.envelope(3, "web2", f.key(3, "web2"),
		data.NewMap("cmd", "_return", "id", "web1", "tok", f.victimToken))
	if reply := decoded(t, f.ask(body)); reply != string(replyBadLoad) || len(f.handler.seen()) > 0 {
		t.Errorf("reply %v", reply)
	}
}
