package channel

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
)

const (
	requestFile = "05-request.json"
	clearFile   = "07-clear-requests.json"
)

// withProof are the commands that Salt 3006.0 does for nobody without a token.
var withProof = map[string]bool{
	"_master_tops": true, "_ext_nodes": true, "_minion_event": true, "_mine": true,
	"_mine_get": true, "_mine_delete": true, "_mine_flush": true, "_file_recv": true,
	"minion_runner": true, "minion_pub": true, "minion_publish": true,
	"pub_ret": true, "revoke_auth": true,
}

// otherwise are the requests that are answered otherwise than by Salt 3006.0.
var otherwise = map[string]string{
	"_pillar, version 3, no nonce":    "version 3 needs the id outside and a token inside, which 3006.0 does not know",
	"_pillar, version 3, nonce":       "as above",
	"_file_hash, version 3, no nonce": "as above",
	"_file_hash, version 3, nonce":    "as above",
	"_return, version 3, no nonce":    "as above",
}

// exchangeCase is what an exchange is played with.
type exchangeCase struct {
	name, session string
	ring          keyring
	minions       *data.Map // id → name of its key
	x             *vectors.Case
}

func TestVectorRequest(t *testing.T) {
	f := vectors.Load(t, requestFile)
	sections := []string{"requests", "minion_start", "during_jobs", "older_forms"}
	vectors.Later(t, f, sections, nil)
	ring := keysOf(t, f)
	for _, section := range sections {
		for _, c := range f.Section(section) {
			t.Run(section+"/"+c.Name, func(t *testing.T) {
				c = c.On(t)
				c.Only("name", "client_error", "exchanges", "minion", "note", "salt_argv",
					"session_aes_key", "exchange")
				e := exchangeCase{name: strings.TrimLeft(c.Name, "0123456789 "),
					session: f.Top.Text("session_aes_key"), ring: ring,
					minions: f.Top.Value("minions").(*data.Map)}
				if c.Has("exchange") {
					e.session = c.Text("session_aes_key")
					e.x = &vectors.Case{Name: c.Name, Map: c.Object("exchange")}
					e.play(t)
					return
				}
				for _, x := range c.Sub("exchanges") {
					e.x = x
					e.play(t)
				}
			})
		}
	}
}

func (e exchangeCase) play(t *testing.T) {
	t.Helper()
	e.x = e.x.On(t)
	e.x.Only("request_frame", "reply_frame", "enc", "version", "request_load", "reply_kind",
		"reply_nonce", "reply_plain_bytes", "reply", "dictkey", "minion_key", "private_aes_key",
		"signed_data", "signature", "signature_verifies")
	if e.x.Text("enc") == "clear" {
		e.playSignIn(t)
		return
	}
	e.opens(t)
	e.playServer(t)
	e.playClient(t)
}

// playSignIn checks the shape of the reply to a sign-in between the requests; auth_vector_test.go
// checks the rest.
func (e exchangeCase) playSignIn(t *testing.T) {
	t.Helper()
	r := e.rig(t)
	reply := asMap(t, decoded(t, r.ask(e.x.Bytes("request_frame"))))
	want := e.x.Object("reply")
	if !data.Equal(reply.Keys(), want.Keys()) || reply.Text("enc") != want.Text("enc") {
		t.Fatalf("reply has %v, want %v", reply.Keys(), want.Keys())
	}
	golden := asMap(t, decoded(t, rawField(want, "load")))
	got := asMap(t, decoded(t, rawField(reply, "load")))
	if !golden.Has("aes") {
		return // its key was revoked before; here it is accepted
	}
	got.Delete("session")
	if !data.Equal(got.Keys(), golden.Keys()) {
		t.Errorf("sign-in is answered with %v, want %v", got.Keys(), golden.Keys())
	}
}

func (e exchangeCase) rig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, rigOptions{ring: e.ring, session: e.session})
	r.handler.proof = withProof
	for id, key := range e.minions.All() {
		r.accept(id.(string), key.(string))
	}
	return r
}

func (e exchangeCase) version() int {
	v, _ := e.x.Map.Value("version").(int64)
	return int(v)
}

// opens checks that the session key opens the request, to the load of the file.
func (e exchangeCase) opens(t *testing.T) {
	t.Helper()
	env, err := payload.ParseEnvelope(e.x.Bytes("request_frame"), payload.WireLimits())
	must(t, err)
	key, err := crypto.NewCrypticle(e.session)
	must(t, err)
	blob, _ := env.Blob()
	plain, err := key.Open(blob, "")
	must(t, err)
	if got, want := decoded(t, plain), e.x.Value("request_load"); env.Version != e.version() ||
		data.Repr(got) != data.Repr(want) {
		t.Errorf("request of version %d is %s, want %s", env.Version, data.Repr(got), data.Repr(want))
	}
}

// handle does the commands: it compares what reaches it and answers what the original did.
func (e exchangeCase) handle(t *testing.T) func(*Command) (any, error) {
	return func(c *Command) (any, error) {
		want := asMap(t, e.x.Value("request_load")).Clone()
		want.Delete("tok")
		if e.version() >= 2 {
			want.Delete("nonce")
		}
		if got := decoded(t, c.Load.Marshal()); data.Repr(got) != data.Repr(want) {
			t.Errorf("the handler is given %s, want %s", data.Repr(got), data.Repr(want))
		}
		switch {
		case e.name == "unknown command" || e.name == "hidden command":
			return nil, ErrUnknownCommand
		case e.x.Has("dictkey"):
			return Private{Name: e.x.Text("dictkey"), Value: e.private(t)}, nil
		case c.Name == "_pillar":
			return Private{Name: "pillar", Value: data.NewMap()}, nil
		}
		return e.x.Value("reply"), nil
	}
}

// private returns the value in a private reply.
func (e exchangeCase) private(t *testing.T) any {
	t.Helper()
	if !e.x.Has("signed_data") {
		return e.x.Value("reply")
	}
	return asMap(t, decoded(t, e.x.Bytes("signed_data"))).Value(e.x.Text("dictkey"))
}

func (e exchangeCase) playServer(t *testing.T) {
	t.Helper()
	r := e.rig(t)
	r.handler.encrypted = e.handle(t)
	reply := r.ask(e.x.Bytes("request_frame"))
	if why, differs := otherwise[e.name]; differs {
		if decoded(t, reply) != string(replyBadLoad) || len(r.handler.seen()) > 0 {
			t.Errorf("reply %q, want bad load: %s", reply, why)
		}
		return
	}
	switch kind := e.x.Text("reply_kind"); {
	case strings.HasPrefix(kind, "encrypted"):
		blob, _ := payload.Bytes(reply)
		nonce, _ := e.x.Map.Value("reply_nonce").(string)
		plain, err := r.secrets.Shared().Decrypt(blob)
		must(t, err)
		if want := "pickle::" + nonce + string(e.x.Bytes("reply_plain_bytes")); string(plain) != want {
			t.Errorf("reply is %q, want %q", plain, want)
		}
	case strings.HasPrefix(kind, "private"):
		e.comparePrivate(t, reply)
	case kind == "clear":
		if !bytes.Equal(reply, e.x.Bytes("reply_frame")) {
			t.Errorf("reply is %q, want %q", reply, e.x.Bytes("reply_frame"))
		}
	default:
		t.Errorf("kind %q is not understood", kind)
	}
}

func (e exchangeCase) comparePrivate(t *testing.T, reply []byte) {
	t.Helper()
	name := e.x.Text("dictkey")
	outer := asMap(t, decoded(t, reply))
	if !data.Equal(outer.Keys(), []any{"key", name}) {
		t.Fatalf("private reply has %v", outer.Keys())
	}
	text, err := e.ring[e.x.Text("minion_key")].Decrypt(rawField(outer, "key"), crypto.OAEPSHA1)
	must(t, err)
	key, err := crypto.NewCrypticle(string(text))
	must(t, err)
	plain, err := key.Open(rawField(outer, name), "")
	must(t, err)
	value := decoded(t, plain)
	if e.version() >= 2 {
		value = e.signedPart(t, asMap(t, value), outer)
	}
	if !data.Equal(value, e.private(t)) {
		t.Errorf("private value is %s, want %s", data.Repr(value), data.Repr(e.private(t)))
	}
}

func (e exchangeCase) signedPart(t *testing.T, signed, outer *data.Map) any {
	t.Helper()
	must(t, e.ring["master"].Public().Verify(rawField(signed, "data"), rawField(signed, "sig"),
		crypto.SHA1Sign))
	inner := asMap(t, decoded(t, rawField(signed, "data")))
	golden := asMap(t, decoded(t, e.x.Bytes("signed_data")))
	if !data.Equal(inner.Keys(), golden.Keys()) || inner.Text("nonce") != golden.Text("nonce") {
		t.Errorf("signed part is %s, want %s", data.Repr(inner), data.Repr(golden))
	}
	if !bytes.Equal(rawField(inner, "key"), rawField(outer, "key")) {
		t.Error("the keys inside and outside differ")
	}
	return inner.Value(e.x.Text("dictkey"))
}

// playClient lets a client send the request of the file and gives it the original's reply.
func (e exchangeCase) playClient(t *testing.T) {
	t.Helper()
	if e.version() >= 3 {
		return // 3006.0 treats version 3 as 2, so its reply does not fit our request
	}
	load := asMap(t, e.x.Value("request_load")).Clone()
	nonce := load.Text("nonce")
	load.Delete("nonce")
	load.Delete("tok")
	id := "web1"
	if v := load.Text("id"); e.minions.Has(v) {
		id = v
	}
	var sent []byte
	out := wire(func(_ context.Context, body []byte) ([]byte, error) {
		if sent != nil {
			return nil, errOneReply
		}
		sent = body
		return e.x.Bytes("reply_frame"), nil
	})
	key, err := crypto.NewCrypticle(e.session)
	must(t, err)
	c := newTestClient(t, e.ring[e.minions.Text(id)], &memoryKeys{}, id, out,
		ClientOptions{Tries: 1, AuthTries: 1})
	c.creds = &Credentials{Shared: key, Version: e.version(), MasterKey: e.ring["master"].Public()}
	c.nonce = func() string { return nonce }
	e.compareClient(t, c, load)
	if e.version() == 2 && len(nonce) == nonceLen {
		e.compareSent(t, c, key, load, nonce, sent)
	}
}

var errOneReply = errors.New("the file has one reply")

func (e exchangeCase) compareClient(t *testing.T, c *Client, load *data.Map) {
	t.Helper()
	switch kind := e.x.Text("reply_kind"); {
	case strings.HasPrefix(kind, "private"):
		pillar, err := c.Pillar(t.Context(), load)
		if m, ok := e.private(t).(*data.Map); err != nil || !ok || !data.Equal(pillar, m) {
			t.Errorf("pillar is %s, %v, want %s", data.Repr(pillar), err, data.Repr(m))
		}
	case kind == "clear":
		if reply, err := c.Do(t.Context(), load); !errors.Is(err, errOneReply) {
			t.Errorf("refusal is taken for %q, %v; want a new sign-in", reply, err)
		}
	case e.x.Map.Value("reply_nonce") == "short": // a client's nonces have 32 characters
	default:
		reply, err := c.Do(t.Context(), load)
		if err == nil && e.x.Map.Value("reply_nonce") == nil && e.version() >= 2 && load.Has("nonce") {
			t.Error("a reply without a nonce is taken")
		}
		if !bytes.Equal(reply, e.x.Bytes("reply_plain_bytes")) {
			t.Errorf("reply is %q, %v, want %q", reply, err, e.x.Bytes("reply_plain_bytes"))
		}
	}
}

// compareSent compares the request of a client with that of the original's minion.
func (e exchangeCase) compareSent(
	t *testing.T, c *Client, key *crypto.Crypticle, load *data.Map, nonce string, sent []byte,
) {
	t.Helper()
	env, err := payload.ParseEnvelope(sent, payload.WireLimits())
	must(t, err)
	blob, _ := env.Blob()
	plain, err := key.Open(blob, "")
	must(t, err)
	want := load.Clone()
	want.Set("nonce", nonce)
	if needsToken(load.Text("cmd")) {
		want.Set("id", c.opts.ID)
		want.Set("tok", c.proof)
	}
	if got := decoded(t, plain); !data.Equal(got, want) || env.Version != 2 || env.ID != "" ||
		env.Enc != "aes" {
		t.Errorf("the client sends %s, want %s", data.Repr(got), data.Repr(want))
	}
	golden := asMap(t, e.x.Value("request_load"))
	if tok := rawField(golden, "tok"); golden.Has("tok") && withProof[golden.Text("cmd")] &&
		golden.Text("cmd") != "_ext_nodes" && !strings.Contains(e.name, "bad token") &&
		!strings.Contains(e.name, "other id") && !strings.Contains(e.name, "id not a") &&
		!bytes.Equal(tok, c.proof) && !strings.Contains(e.name, "null byte") {
		t.Errorf("token is %x, want %x", c.proof, tok)
	}
}

func TestVectorClearRequest(t *testing.T) {
	f := vectors.Load(t, clearFile)
	master := "package master: what the commands do"
	vectors.Later(t, f, []string{"ping", "unknown", "no"},
		map[string]string{"publish": master, "mk_token": master,
			"get_token": master, "runner": master, "wheel": master,
			"from_programs": "the command line programs"})
	ring := keysOf(t, vectors.Load(t, authFile))
	for _, section := range []string{"ping", "unknown", "no"} {
		for _, c := range f.Section(section) {
			t.Run(c.Name, func(t *testing.T) { clearCase(t, ring, c.On(t)) })
		}
	}
}

func clearCase(t *testing.T, ring keyring, c *vectors.Case) {
	c.Only("name", "request_frame", "request", "reply_frame", "reply", "volatile", "reply_key_order")
	r := newRig(t, rigOptions{ring: ring})
	r.handler.clear = func(c *Command) (any, error) {
		if c.Name != "ping" {
			return nil, ErrUnknownCommand
		}
		return decoded(t, c.Load.Marshal()), nil
	}
	if reply := r.ask(c.Bytes("request_frame")); !bytes.Equal(reply, c.Bytes("reply_frame")) {
		t.Errorf("reply is %q, want %q", reply, c.Bytes("reply_frame"))
	}
	if _, clear := c.Value("reply").(*data.Map); !clear {
		return
	}
	out := wire(func(_ context.Context, body []byte) ([]byte, error) {
		env, err := payload.ParseEnvelope(body, payload.WireLimits())
		must(t, err)
		request := c.Object("request")
		if got := decoded(t, env.Load); env.Enc != "clear" || env.Version != Version ||
			!data.Equal(got, request.Value("load")) {
			t.Errorf("request is %s", data.Repr(got))
		}
		return c.Bytes("reply_frame"), nil
	})
	reply, err := Clear(t.Context(), out, asMap(t, c.Object("request").Value("load")))
	if err != nil || !data.Equal(reply, c.Value("reply")) {
		t.Errorf("Clear returns %s, %v, want %s", data.Repr(reply), err, data.Repr(c.Value("reply")))
	}
}
