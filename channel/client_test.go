package channel

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/job"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/transport"
)

// pair is a minion and its master, connected by a function that tests may put something into.
type pair struct {
	*rig
	client  *Client
	keys    *memoryKeys
	box     *outbox
	sender  *Publisher
	signIns atomic.Int32
	tamper  func(cmd string, request, reply []byte) ([]byte, error) // nil passes replies on
}

func newPair(t testing.TB, o ClientOptions) *pair {
	t.Helper()
	p := &pair{rig: newRig(t, rigOptions{server: ServerOptions{Admission: Admission{MinimumVersion: 3}}}), keys: &memoryKeys{}, box: &outbox{}}
	p.accept("web1", "minion")
	p.handler.encrypted = func(c *Command) (any, error) { return "done " + c.Name, nil }
	o.OnSignIn = func(error) { p.signIns.Add(1) }
	p.client = newTestClient(t, p.ring["minion"], p.keys, "web1", wire(p.carry), o)
	p.sender = NewPublisher(p.ring["master"], p.secrets, p.box, PublisherOptions{Sign: true})
	return p
}

func (p *pair) carry(ctx context.Context, body []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	reply := p.ask(body)
	if p.tamper == nil {
		return reply, nil
	}
	env, err := payload.ParseEnvelope(body, payload.WireLimits())
	must(p.t, err)
	cmd := "aes"
	if fields, err := env.Fields(payload.WireLimits()); err == nil {
		cmd, _ = fields.Text("cmd")
	}
	return p.tamper(cmd, body, reply)
}

// restart is what a master that starts anew forgets.
func (p *pair) restart() {
	must(p.t, p.secrets.Rotate())
	must(p.t, p.secrets.Forget("web1"))
}

func (p *pair) call() error {
	reply, err := p.client.Call(p.t.Context(), data.NewMap("cmd", "_file_hash"))
	if err == nil && reply != "done _file_hash" {
		p.t.Errorf("reply is %v", reply)
	}
	return err
}

// publish returns the bytes of a publication.
func (p *pair) publish(jid string) []byte {
	p.t.Helper()
	must(p.t, p.sender.Publish(&job.Publication{JID: job.ID(jid), Fun: []string{"test.ping"},
		Target: "*", TargetType: "glob"}, nil, 0))
	return p.box.take()[0].Body
}

func TestConversation(t *testing.T) {
	p := newPair(t, ClientOptions{Tries: 3, AuthTries: 7, RequireSigned: true})
	must(t, p.call())
	creds := p.client.Credentials()
	if creds.Version != 3 || creds.PublishPort != 4505 || creds.Session == nil ||
		!crypto.SameKey(p.keys.master, p.ring.pub("master")) {
		t.Errorf("credentials are %+v", creds)
	}
	p.handler.encrypted = func(c *Command) (any, error) {
		if !c.Caller.Proved || c.Caller.ID != "web1" || c.Version != 3 {
			t.Errorf("caller is %+v", c.Caller)
		}
		return Private{"pillar", data.NewMap("a", int64(1))}, nil
	}
	pillar, err := p.client.Pillar(t.Context(), data.NewMap("cmd", "_pillar"))
	if err != nil || !data.Equal(pillar, data.NewMap("a", int64(1))) {
		t.Errorf("pillar is %s, %v", data.Repr(pillar), err)
	}
	pub, err := p.client.OpenPublication(t.Context(), p.publish("20261121074539197176"))
	if err != nil || pub.JID != "20261121074539197176" {
		t.Errorf("publication is %+v, %v", pub, err)
	}
	if n := p.signIns.Load(); n != 1 {
		t.Errorf("%d sign-ins", n)
	}
	for _, alg := range []string{crypto.OAEPSHA224} {
		c := p.rig.client("web1", "minion", wire(p.carry),
			ClientOptions{EncAlgo: alg, SigAlgo: crypto.SHA224Sign})
		if _, err := c.Pillar(t.Context(), data.NewMap("cmd", "_pillar")); err != nil {
			t.Errorf("with %s: %v", alg, err)
		}
	}
}

// After a restart of the master many requests at once need one sign-in, and none is lost.
func TestOneSignInAfterRestart(t *testing.T) {
	p := newPair(t, ClientOptions{Tries: 1, AuthTries: 1})
	must(t, p.call())
	p.restart()
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			if err := p.call(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := p.signIns.Load(); n != 2 {
		t.Errorf("%d sign-ins, want 2", n)
	}
}

func TestTransportErrorsAreRetried(t *testing.T) {
	p := newPair(t, ClientOptions{Tries: 3, AuthTries: 1})
	must(t, p.call())
	for _, tt := range []struct {
		err  error
		fail int // so many times
		want bool
		sent int
	}{
		{transport.ErrDisconnected, 2, true, 3},
		{transport.ErrDisconnected, 3, false, 3},
		{context.DeadlineExceeded, 2, true, 3},
		{transport.ErrClosed, 1, false, 1},
	} {
		sent, nonces := 0, map[string]bool{}
		p.tamper = func(_ string, request, reply []byte) ([]byte, error) {
			sent++
			nonces[string(request)] = true
			if sent <= tt.fail {
				return nil, tt.err
			}
			return reply, nil
		}
		if err := p.call(); (err == nil) != tt.want || err != nil && !errors.Is(err, tt.err) {
			t.Errorf("%v %d times: %v", tt.err, tt.fail, err)
		}
		if sent != tt.sent || len(nonces) != sent {
			t.Errorf("%v %d times: %d requests, %d different", tt.err, tt.fail, sent, len(nonces))
		}
	}
	if n := p.signIns.Load(); n != 1 {
		t.Errorf("%d sign-ins", n)
	}
}

// A request has its time, and each try its own.
func TestRequestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, ClientOptions{Tries: 3, Timeout: 60 * time.Second})
		must(t, p.call())
		silent := wire(func(ctx context.Context, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		p.client.out = silent
		start := time.Now()
		if err := p.call(); !errors.Is(err, context.DeadlineExceeded) ||
			time.Since(start) != 180*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start = time.Now()
		if _, err := p.client.Do(ctx, data.NewMap("cmd", "x")); !errors.Is(err,
			context.DeadlineExceeded) || time.Since(start) != 10*time.Second {
			t.Errorf("with 10 s of the caller: %v after %v", err, time.Since(start))
		}
	})
}

// After a reply that cannot be decrypted, the client signs in again and repeats the request once;
// this does not count as a try.
func TestRefusedReplies(t *testing.T) {
	replies := map[string][]byte{
		"bad load": marshal("bad load"), "null": marshal(nil), "empty text": marshal(""),
		"map": marshal(data.NewMap("error", "x")), "no bytes": {}, "garbage": {0xc1},
		"not msgpack": []byte("HTTP/1.1 400 Bad Request"), "list": marshal([]any{}),
	}
	for name, bad := range replies {
		p := newPair(t, ClientOptions{Tries: 2, AuthTries: 1})
		must(t, p.call())
		sent := 0
		p.tamper = func(cmd string, _, reply []byte) ([]byte, error) {
			if cmd == "_auth" {
				return reply, nil
			}
			sent++
			return bad, nil
		}
		if err := p.call(); !errors.Is(err, crypto.ErrAuthentication) || sent != 3 || p.signIns.Load() != 2 {
			t.Errorf("%s: %v, %d requests, %d sign-ins", name, err, sent, p.signIns.Load())
		}
		if _, err := p.client.Pillar(t.Context(), data.NewMap("cmd", "_pillar")); err == nil {
			t.Errorf("%s is taken for a pillar", name)
		}
	}
}

// The reply to one request is not taken for the reply to another.
func TestReplayedReply(t *testing.T) {
	p := newPair(t, ClientOptions{Tries: 1})
	var old []byte
	p.tamper = func(_ string, _, reply []byte) ([]byte, error) { old = reply; return reply, nil }
	must(t, p.call())
	p.tamper = func(string, []byte, []byte) ([]byte, error) { return old, nil }
	if err := p.call(); !errors.Is(err, crypto.ErrNonce) {
		t.Errorf("an old reply: %v", err)
	}
}

func TestReplyLimit(t *testing.T) {
	p := newPair(t, ClientOptions{Tries: 1, MaxReply: 1000})
	p.handler.encrypted = func(*Command) (any, error) { return strings.Repeat("x", 2000), nil }
	if _, err := p.client.Do(t.Context(), data.NewMap("cmd", "x")); !errors.Is(err, payload.ErrLimit) {
		t.Errorf("a reply over the limit: %v", err)
	}
}

// Who waits for the sign-in of another is not told that the other gave up.
func TestWaiterOutlivesSigner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPair(t, ClientOptions{Tries: 1, AuthTries: 3})
		block := true
		p.client.out = wire(func(ctx context.Context, body []byte) ([]byte, error) {
			if block {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return p.carry(ctx, body)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go p.client.SignIn(ctx)
		synctest.Wait()
		done := make(chan error)
		go func() { done <- p.call() }()
		synctest.Wait()
		block = false
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the waiter fails: %v", err)
		}
	})
}

// TestCVE2022_22935: no refusal that a stranger can make lets the minion give up.
func TestCVE2022_22935(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // there is a pause between two tries
		for _, first := range []bool{true, false} {
			p := newPair(t, ClientOptions{Tries: 1, AuthTries: 2})
			if !first {
				p.keys.master = p.ring.pub("master")
			}
			for name, forge := range p.forgeries() {
				if first && strings.HasPrefix(name, "signed by another") {
					continue // see TestThreatRefusalsOnFirstContactAreUnproved
				}
				p.tamper = func(_ string, request, _ []byte) ([]byte, error) { return forge(request), nil }
				p.client.Forget()
				_, err := p.client.SignIn(t.Context())
				for _, final := range []error{nil, ErrRejected, ErrFingerprint, ErrPending, ErrFull} {
					if errors.Is(err, final) {
						t.Errorf("first contact %v, %s: the minion believes it: %v", first, name, err)
					}
				}
				if first && p.keys.master != "" {
					t.Errorf("%s: a key is stored", name)
					p.keys.master = ""
				}
			}
			p.tamper = nil
			must(t, p.call())
		}
	})
}

// A minion trusts no refusal until it knows a key of its master, however the refusal is signed. It
// trusts a refusal of the master that it knows.
func TestThreatRefusalsOnFirstContactAreUnproved(t *testing.T) {
	refused := func(err error) bool {
		return errors.Is(err, ErrRejected) || errors.Is(err, ErrPending) || errors.Is(err, ErrFull)
	}
	for _, o := range []ClientOptions{{AuthTries: 1}, {AuthTries: 1, OpenMode: true},
		{AuthTries: 1, AllowUnsigned: true}} {
		p := newPair(t, o)
		for name, forge := range p.forgeries() {
			for _, known := range []string{"", p.ring.pub("master")} {
				p.keys.master = known
				p.tamper = func(_ string, request, _ []byte) ([]byte, error) { return forge(request), nil }
				if _, err := p.client.SignIn(t.Context()); refused(err) && !errors.Is(err, ErrUnproved) {
					t.Errorf("%+v, knows a master %v, %s: %v", o, known != "", name, err)
				}
			}
		}
	}
	p := newPair(t, ClientOptions{AuthTries: 1})
	must(t, p.call())
	must(t, p.pki.Put(pki.Accepted, "web1", p.ring.pub("other")))
	if _, err := p.client.SignIn(t.Context()); !errors.Is(err, ErrRejected) || errors.Is(err, ErrUnproved) {
		t.Errorf("a refusal of the master that the minion knows: %v", err)
	}
}

// forgeries are replies to a sign-in that the master did not make.
func (p *pair) forgeries() map[string]func(request []byte) []byte {
	clear := func(load any) []byte { return marshal(data.NewMap("enc", "clear", "load", load)) }
	signed := func(key string, load *data.Map) []byte {
		body := marshal(load)
		sig, err := p.ring[key].Sign(body, crypto.SHA1Sign)
		must(p.t, err)
		return marshal(data.NewMap("enc", "clear", "load", body, "sig", sig))
	}
	nonceOf := func(request []byte) string {
		env, _ := payload.ParseEnvelope(request, payload.WireLimits())
		fields, _ := env.Fields(payload.WireLimits())
		nonce, _ := fields.Text("nonce")
		return nonce
	}
	forged := map[string]func([]byte) []byte{}
	for name, ret := range map[string]any{"false": false, "true": true, "full": "full",
		"bad enc algo": "bad enc algo"} {
		refusal := data.NewMap("ret", ret)
		forged["unsigned "+name] = func([]byte) []byte { return clear(refusal) }
		forged["signed without nonce "+name] = func([]byte) []byte { return signed("master", refusal) }
		forged["signed with an old nonce "+name] = func([]byte) []byte {
			return signed("master", data.NewMap("ret", ret, "nonce", strings.Repeat("0", 32)))
		}
		forged["signed by another "+name] = func(request []byte) []byte {
			return signed("other", data.NewMap("ret", ret, "nonce", nonceOf(request)))
		}
		forged["signed by another, without signature "+name] = func(request []byte) []byte {
			return marshal(data.NewMap("enc", "clear",
				"load", marshal(data.NewMap("ret", ret, "nonce", nonceOf(request)))))
		}
	}
	forged["signed by another, whose key comes with it"] = func(request []byte) []byte {
		return signed("other", data.NewMap("ret", false, "nonce", nonceOf(request),
			"pub_key", p.ring.pub("other")))
	}
	forged["text"] = func([]byte) []byte { return marshal("bad load") }
	forged["unsigned acceptance"] = func([]byte) []byte {
		return marshal(data.NewMap("enc", "pub", "pub_key", p.ring.pub("master"), "aes", "x",
			"publish_port", int64(1)))
	}
	forged["empty"] = func([]byte) []byte { return nil }
	forged["nothing in it"] = func(request []byte) []byte { return signed("master", data.NewMap("nonce", nonceOf(request))) }
	return forged
}

// A master of version 0 is believed only by a minion that was told to.
func TestUnsignedMaster(t *testing.T) {
	for _, allow := range []bool{true, false} {
		r := newRig(t, rigOptions{})
		r.accept("web1", "minion")
		c := r.client("web1", "minion", wire(func(_ context.Context, body []byte) ([]byte, error) {
			v := asMap(t, decoded(t, body))
			v.Delete("version")
			return r.ask(marshal(v)), nil
		}), ClientOptions{AllowUnsigned: allow, AuthTries: 1})
		creds, err := c.SignIn(t.Context())
		switch {
		case !allow && !errors.Is(err, ErrDowngrade):
			t.Errorf("an unsigned acceptance: %v, want ErrDowngrade", err)
		case allow && (err != nil || creds.Version != 0):
			t.Errorf("an unsigned acceptance that is allowed: %+v, %v", creds, err)
		}
	}
}

// TestCVE2022_22934: a pillar that was changed on the way, in each of the ways, is refused.
func TestCVE2022_22934(t *testing.T) {
	p := newPair(t, ClientOptions{Tries: 1, AuthTries: 1})
	p.handler.encrypted = func(*Command) (any, error) { return Private{"pillar", data.NewMap("good", true)}, nil }
	nonce := ""
	p.client.nonce = func() string { nonce = newNonce(); return nonce }
	if _, err := p.client.Pillar(t.Context(), data.NewMap("cmd", "_pillar")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, signer   string
		otherKey       bool
		nonce          func() string
		unsigned, good bool
	}{
		{name: "as the master makes it", signer: "master", nonce: func() string { return nonce }, good: true},
		{name: "signed by another key", signer: "other", nonce: func() string { return nonce }},
		{name: "sealed anew with another key", signer: "master", otherKey: true,
			nonce: func() string { return nonce }},
		{name: "answer to another request", signer: "master", nonce: newNonce},
		{name: "without nonce", signer: "master", nonce: func() string { return "" }},
		{name: "without signature", signer: "master", nonce: func() string { return nonce }, unsigned: true},
	} {
		p.tamper = func(cmd string, _, reply []byte) ([]byte, error) {
			if cmd == "_auth" {
				return reply, nil
			}
			return p.privateReply(tt.signer, tt.nonce(), tt.otherKey, tt.unsigned), nil
		}
		pillar, err := p.client.Pillar(t.Context(), data.NewMap("cmd", "_pillar"))
		if (err == nil) != tt.good {
			t.Errorf("%s: %s, %v", tt.name, data.Repr(pillar), err)
		}
	}
}

// privateReply makes a private reply, or a forgery of one.
func (p *pair) privateReply(signer, nonce string, otherKey, unsigned bool) []byte {
	once, err := crypto.NewCrypticle(crypto.NewKeyString())
	must(p.t, err)
	wrapped, err := p.ring["minion"].Public().Encrypt([]byte(once.Key()), crypto.OAEPSHA1)
	must(p.t, err)
	inner := wrapped
	if otherKey {
		inner, err = p.ring["minion"].Public().Encrypt([]byte(once.Key()), crypto.OAEPSHA1)
		must(p.t, err)
	}
	body := marshal(data.NewMap("key", inner, "pillar", data.NewMap("evil", true), "nonce", nonce))
	sig, err := p.ring[signer].Sign(body, crypto.SHA1Sign)
	must(p.t, err)
	if unsigned {
		sig = nil
	}
	return marshal(data.NewMap("key", wrapped,
		"pillar", once.Seal(marshal(data.NewMap("data", body, "sig", sig)), "")))
}

// Where unsigned masters are allowed, the shared key must still be proved by the master's key that
// is known.
func TestForgedSharedKey(t *testing.T) {
	p := newPair(t, ClientOptions{AllowUnsigned: true, AuthTries: 1})
	seal := func(text string) []byte {
		b, err := p.ring["minion"].Public().Encrypt([]byte(text), crypto.OAEPSHA1)
		must(t, err)
		return b
	}
	other, err := p.ring["other"].EncryptX931([]byte(strings.Repeat("0", 64)))
	must(t, err)
	old, err := p.signIn.digestOf(p.secrets.Shared().Key())
	must(t, err)
	for name, sig := range map[string]any{"none": nil, "of another key": other,
		"of another shared key": old} {
		p.keys.master = p.ring.pub("master")
		load := data.NewMap("enc", "pub", "pub_key", p.keys.master, "publish_port", int64(4505),
			"aes", seal(crypto.NewKeyString()), "token", seal(p.client.token), "sig", sig)
		p.tamper = func(string, []byte, []byte) ([]byte, error) { return marshal(load), nil }
		if _, err := p.client.SignIn(t.Context()); !errors.Is(err, ErrMasterKey) {
			t.Errorf("signature %s: %v, want ErrMasterKey", name, err)
		}
	}
}
