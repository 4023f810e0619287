package master

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// A socket is the way to a request port on loopback, with the key that all accepted minions of a
// bench have.
type socket struct {
	t      testing.TB
	out    transport.Requester
	key    *crypto.PrivateKey
	token  []byte
	nonces int
}

// listen opens a request port: what the test asks from now on goes over it.
func (b *bench) listen(t testing.TB) {
	t.Helper()
	port, err := zeromq.ListenReply(t.Context(), "tcp://127.0.0.1:0", transport.Options{Log: silent(t)})
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- port.Serve(ctx, b.server.Handle) }()
	s := &socket{t: t, out: zeromq.NewRequester(transport.Dialer{Addr: "tcp://" +
		port.Addr().String()}), key: vectorKey(t, "web1")}
	t.Cleanup(func() { s.out.Close(); stop(); <-done; port.Close() })
	s.token, err = s.key.EncryptX931([]byte("salt"))
	must(t, err)
	b.socket = s
}

// do sends a message and returns the reply.
func (s *socket) do(body []byte) []byte {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	reply, err := s.out.Do(ctx, body)
	must(s.t, err)
	return reply
}

// seal makes the message of an accepted minion, in the form of version 3, and returns the nonce of
// its answer. What the load says of the id is kept.
func (s *socket) seal(session *crypto.Crypticle, id string, load *data.Map) (body []byte, nonce string) {
	s.t.Helper()
	s.nonces++
	nonce = fmt.Sprintf("%032x", s.nonces)
	load = load.Clone()
	load.Update(data.NewMap("nonce", nonce, "ts", time.Now().Unix(), "tok", s.token))
	plain, err := payload.Marshal(load)
	must(s.t, err)
	body, err = payload.Marshal(data.NewMap("enc", "aes", "load", session.Seal(plain, ""),
		"version", int64(3), "id", id))
	must(s.t, err)
	return body, nonce
}

// sealed sends a command of an accepted minion over the socket and returns what the answer says. An
// answer that is not encrypted is a refusal and returned as it is.
func (b *bench) sealed(t testing.TB, id string, load *data.Map) any {
	t.Helper()
	session, err := b.parts.secrets.Session(id)
	must(t, err)
	body, nonce := b.socket.seal(session, id, load)
	reply, err := payload.Unmarshal(b.socket.do(body), payload.WireLimits())
	must(t, err)
	blob, ok := reply.([]byte)
	if !ok {
		return reply
	}
	plain, err := session.Open(blob, nonce)
	must(t, err)
	v, err := payload.Unmarshal(plain, payload.WireLimits())
	must(t, err)
	return v
}
