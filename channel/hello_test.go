package channel

import (
	"testing"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

const tcpFile = "15-tcp-transport.json"

// TestVectorHello checks what a minion of Salt 3006.0 says on the publish port of transport tcp,
// and what it gets there.
func TestVectorHello(t *testing.T) {
	f := vectors.Load(t, tcpFile)
	ring := keysOf(t, f)
	session := f.Top.Text("session_aes_key")
	for _, c := range f.Section("publications") {
		directions := c.On(t).Object("directions")
		hello := tcpFrames(t, directions, "c2s")[0]
		r := newRig(t, rigOptions{ring: ring, master: "master", session: session})
		if id, err := r.server.Identify(hello.body(t)); id != "" || err == nil {
			t.Errorf("Identify of an unknown minion = %q, %v", id, err)
		}
		r.accept("tcp1", "minion")
		if id, err := r.server.Identify(hello.body(t)); id != "tcp1" || err != nil {
			t.Errorf("Identify = %q, %v, want tcp1", id, err)
		}
		c := publicationClient(t, ring, session, ClientOptions{})
		for _, p := range tcpFrames(t, directions, "s2c") {
			pub, err := c.OpenPublication(t.Context(), p.body(t))
			if err != nil {
				t.Fatal(err)
			}
			want := p.c.Object("load")
			if string(pub.JID) != want.Text("jid") || pub.Fun[0] != want.Text("fun") ||
				!data.Equal(pub.Arg, want.Value("arg")) {
				t.Errorf("publication %+v, want %s", pub, data.Repr(want))
			}
		}
	}
}

// TestVectorTCP opens what Salt 3006.0 sent over transport tcp: the bodies are those of other
// transports, in bin form.
func TestVectorTCP(t *testing.T) {
	f := vectors.Load(t, tcpFile)
	key, err := crypto.NewCrypticle(f.Top.Text("session_aes_key"))
	must(t, err)
	for _, c := range f.Section("requests") {
		directions := c.On(t).Object("directions")
		for i, q := range tcpFrames(t, directions, "c2s") {
			env, err := payload.ParseEnvelope(q.body(t), payload.WireLimits())
			must(t, err)
			if env.Enc == "aes" {
				opens(t, key, env.Load, "", q.c.Value("load"))
			} else if want := q.c.Object("body"); env.Enc != want.Text("enc") ||
				!data.Equal(decoded(t, env.Load), want.Value("load")) {
				t.Errorf("clear request %s, want %s", data.Repr(decoded(t, q.body(t))), data.Repr(want))
			}
			reply := tcpFrames(t, directions, "s2c")[i]
			if reply.c.Has("nonce") {
				opens(t, key, reply.body(t), reply.c.Text("nonce"), reply.c.Value("load"))
			} else if want := reply.c.Value("body"); !data.Equal(decoded(t, reply.body(t)), want) {
				t.Errorf("clear reply %s, want %s", data.Repr(decoded(t, reply.body(t))), data.Repr(want))
			}
		}
	}
}

// opens decrypts bytes and compares what they hold.
func opens(t *testing.T, key *crypto.Crypticle, b data.Raw, nonce string, want any) {
	t.Helper()
	blob, ok := payload.Bytes(b)
	if !ok {
		t.Fatalf("%.50q is no bytes", b)
	}
	plain, err := key.Open(blob, nonce)
	must(t, err)
	if got := decoded(t, plain); !data.Equal(got, want) {
		t.Errorf("opened %s, want %s", data.Repr(got), data.Repr(want))
	}
}

type tcpFrame struct{ c *vectors.Case }

func tcpFrames(t *testing.T, directions *data.Map, name string) []tcpFrame {
	t.Helper()
	var list []tcpFrame
	side := &vectors.Case{Name: name, Map: asMap(t, directions.Value(name))}
	for _, c := range side.On(t).Sub("frames") {
		list = append(list, tcpFrame{c.On(t)})
	}
	return list
}

func (f tcpFrame) body(t *testing.T) []byte {
	t.Helper()
	fields, err := payload.ParseFields(f.c.Bytes("frame"), payload.WireLimits())
	must(t, err)
	return fields.Raw("body")
}

// TestHello checks that what a client says is what a server believes, and what it does not.
func TestHello(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.accept("web1", "minion")
	c := r.client("web1", "minion", r.direct(), ClientOptions{})
	hello, err := c.Hello(t.Context())
	must(t, err)
	if id, err := r.server.Identify(hello); id != "web1" || err != nil {
		t.Errorf("Identify = %q, %v", id, err)
	}
	seal := func(load *data.Map) []byte {
		plain, err := payload.Marshal(load)
		must(t, err)
		e := payload.Envelope{Enc: "aes", Load: payload.BlobOf(r.secrets.Shared().Seal(plain, "")),
			Version: 2}
		return e.Marshal()
	}
	other, err := crypto.NewCrypticle(crypto.NewKeyString())
	must(t, err)
	for name, b := range map[string][]byte{
		"another's id": seal(data.NewMap("id", "web2", "tok", c.proof)),
		"no token":     seal(data.NewMap("id", "web1")),
		"wrong token":  seal(data.NewMap("id", "web1", "tok", make([]byte, 256))),
		"no id":        seal(data.NewMap("tok", c.proof)),
		"bad id":       seal(data.NewMap("id", "../web1", "tok", c.proof)),
		"no map": (&payload.Envelope{Enc: "aes",
			Load: payload.BlobOf(r.secrets.Shared().Seal([]byte{1}, ""))}).Marshal(),
		"another key": (&payload.Envelope{Enc: "aes",
			Load: payload.BlobOf(other.Seal([]byte{0x80}, ""))}).Marshal(),
		"load is no blob": marshal(data.NewMap("enc", "aes", "load", data.NewMap())),
	} {
		if id, err := r.server.Identify(b); id != "" || err == nil {
			t.Errorf("%s: Identify = %q, %v, want an error", name, id, err)
		}
	}
	for name, b := range map[string][]byte{
		"clear":      marshal(data.NewMap("enc", "clear", "load", data.NewMap("id", "web1"))),
		"no message": []byte("\xc1"),
		"text":       marshal("hello"),
	} {
		if id, err := r.server.Identify(b); id != "" || err != nil {
			t.Errorf("%s: Identify = %q, %v, want it ignored", name, id, err)
		}
	}
	must(t, r.secrets.Rotate())
	if _, err := r.server.Identify(hello); err == nil {
		t.Error("a hello under the key of before was believed")
	}
	_, err = c.SignIn(t.Context())
	must(t, err)
	hello, err = c.Hello(t.Context())
	must(t, err)
	must(t, r.pki.Move("web1", pki.Accepted, pki.Rejected))
	if _, err := r.server.Identify(hello); err == nil {
		t.Error("a minion whose key was taken away was believed")
	}
}
