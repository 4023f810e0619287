package channel

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// FuzzServerRequest: any bytes on the request port get one reply that can be decoded, and store no
// key under a name that is none. The second half of the input, where there is one, is put inside a
// sign-in and inside an encrypted request.
func FuzzServerRequest(f *testing.F) {
	r := newForger(f, ServerOptions{Admission: Admission{RequestTTL: time.Hour}})
	r.handler.clear = func(*Command) (any, error) { return nil, nil }
	for _, section := range []string{"malformed", "exchange"} {
		for _, c := range vectors.Load(f, authFile).Section(section) {
			f.Add(c.Sub("steps")[0].Bytes("request_frame"), true)
		}
	}
	for _, version := range []int{0, 2, 3} {
		f.Add(r.honest(version, "_return"), true)
		f.Add(r.signInOf("web1", "minion", version), true)
	}
	f.Add(marshal(data.NewMap("cmd", "_auth", "id", "web9", "nonce", "", "pub", r.ring.pub("other"),
		"token", []byte{1})), false)
	f.Add(marshal(data.NewMap("cmd", "_pillar", "id", "web1", "tok", r.victimToken, "nonce", "x")), false)
	own, shared := r.key(3, "web1"), r.key(2, "")
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		r.handler.calls, r.events = nil, nil
		r.logs.Reset()
		bodies := [][]byte{b}
		if !whole && payload.Check(b, payload.PreAuthLimits()) == nil {
			bodies = [][]byte{
				marshal(data.NewMap("enc", "clear", "load", data.Raw(b), "version", int64(3))),
				marshal(data.NewMap("enc", "aes", "load", own.Seal(b, ""), "version", int64(3),
					"id", "web1")),
				marshal(data.NewMap("enc", "aes", "load", shared.Seal(b, ""), "version", int64(2))),
			}
		}
		for _, body := range bodies {
			req := &fakeRequest{body: body}
			r.server.Handle(context.Background(), req)
			if _, err := payload.Unmarshal(req.reply, payload.WireLimits()); err != nil || req.replies != 1 {
				t.Fatalf("%d replies, the last %q: %v", req.replies, req.reply, err)
			}
		}
		for _, state := range pki.States() {
			ids, err := r.pki.List(state)
			must(t, err)
			for _, id := range ids {
				must(t, pki.ValidID(id))
				if id != "web1" && id != "web2" {
					must(t, r.pki.Delete(state, id))
				}
			}
		}
	})
}

// FuzzClientReply: no reply to a sign-in or request makes a minion panic, believe a stranger, or
// give up.
func FuzzClientReply(f *testing.F) {
	r := newForger(f, ServerOptions{})
	f.Add(r.ask(r.signInOf("web1", "minion", 3)), false)
	f.Add(r.ask(r.signInOf("web9", "other", 3)), false)
	f.Add(r.ask(r.honest(3, "_return")), false)
	r.handler.encrypted = func(*Command) (any, error) { return Private{"pillar", data.NewMap("a", int64(1))}, nil }
	f.Add(r.ask(r.honest(3, "_pillar")), false)
	f.Add(marshal(data.NewMap("ret", false, "nonce", fmt.Sprintf("%032x", 1))), true)
	f.Add(marshal(data.NewMap("pub_key", r.ring.pub("master"), "aes", "x", "sig", "x",
		"nonce", fmt.Sprintf("%032x", 1))), true)
	for _, c := range vectors.Load(f, authFile).Section("client_checks") {
		f.Add(c.Sub("steps")[0].Bytes("tampered_reply_frame"), false)
	}
	shared, err := crypto.NewCrypticle(crypto.NewKeyString())
	must(f, err)
	var reply []byte
	keys := &memoryKeys{master: r.ring.pub("master")}
	out := wire(func(context.Context, []byte) ([]byte, error) { return reply, nil })
	c := newTestClient(f, r.ring["minion"], keys, "web1", out, ClientOptions{AuthTries: 1, Tries: 1})
	c.nonce = func() string { return fmt.Sprintf("%032x", 1) }
	f.Fuzz(func(t *testing.T, b []byte, sign bool) {
		reply = b
		if sign { // as a stranger would, with a key of its own
			sig, err := r.ring["other"].Sign(b, crypto.SHA1Sign)
			must(t, err)
			reply = marshal(data.NewMap("enc", "clear", "load", b, "sig", sig))
		}
		if _, err := c.SignIn(t.Context()); !strangers(err) ||
			!crypto.SameKey(keys.master, r.ring.pub("master")) {
			t.Fatalf("a reply that is not the master's is believed: %v", err)
		}
		creds := &Credentials{Shared: shared, Session: shared, Version: 3,
			MasterKey: r.ring["master"].Public()}
		if _, err := c.openPrivate(creds, b, "pillar", fmt.Sprintf("%032x", 1)); err == nil {
			t.Fatal("a pillar that is not the master's is believed")
		}
		if _, err := c.openReply(creds, b, fmt.Sprintf("%032x", 1)); err == nil {
			t.Fatal("a reply that is not the master's is believed")
		}
		_, err := Clear(t.Context(), out, data.NewMap("cmd", "ping"))
		if whole := payload.Check(reply, payload.WireLimits()) == nil; err == nil && !whole {
			t.Fatal("a broken reply to a clear request is taken")
		}
	})
}

// strangers reports whether err is what a minion may make of a reply that anybody could have sent.
func strangers(err error) bool {
	for _, believed := range []error{nil, ErrRejected, ErrPending, ErrFull, ErrFingerprint} {
		if errors.Is(err, believed) {
			return false
		}
	}
	return true
}

// FuzzPublication: no publication makes a minion panic, and none is run that the master did not
// sign. With inside the input stands where the master's load would: then it may be run, and is
// once.
func FuzzPublication(f *testing.F) {
	r := newForger(f, ServerOptions{})
	session := r.secrets.Shared().Key()
	for _, section := range []string{"signed_unfiltered", "unsigned"} {
		for _, c := range vectors.Load(f, publishFile).Section(section) {
			pubs := c.Sub("publications")
			if len(pubs) == 0 {
				continue // a command line that publishes nothing
			}
			p := pubs[0]
			parts := p.List("parts")
			f.Add((&vectors.Case{Map: data.NewMap("part", parts[0])}).On(f).Bytes("part"), false)
			f.Add(p.Bytes("load_plain_bytes"), true)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, inside bool) {
		c := publicationClient(t, r.ring, session, ClientOptions{RequireSigned: true})
		body := b
		if inside {
			blob := r.secrets.Shared().Seal(b, "")
			sig, err := r.ring["master"].Sign(blob, crypto.SHA1Sign)
			must(t, err)
			body = marshal(data.NewMap("enc", "aes", "load", blob, "sig", sig))
		}
		pub, err := c.OpenPublication(t.Context(), body)
		switch {
		case err == nil && !inside:
			t.Fatalf("a publication that the master did not sign is believed: %+v", pub)
		case err == nil && pub.Target == nil:
			t.Fatal("a publication without a target is run")
		}
	})
}
