package channel_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/pki"
)

// pings is a handler with the command ping for minions.
type pings struct{}

func (pings) Clear(context.Context, *channel.Command) (any, error) {
	return nil, channel.ErrUnknownCommand
}

func (pings) Encrypted(_ context.Context, c *channel.Command) (any, error) {
	if c.Name != "ping" {
		return nil, channel.ErrUnknownCommand
	}
	return "pong for " + c.Caller.ID, nil
}

func (pings) NeedsProof(string) bool { return true }
func (pings) Effect(string) bool     { return false }

// wire carries requests to a server in the same process.
type wire struct{ server *channel.Server }

func (w wire) Do(ctx context.Context, body []byte) ([]byte, error) {
	r := &request{body: body}
	w.server.Handle(ctx, r)
	return r.reply, nil
}

func (wire) Close() error { return nil }

type request struct{ body, reply []byte }

func (r *request) Body() []byte            { return r.body }
func (r *request) Remote() net.Addr        { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)} }
func (r *request) Reply(body []byte) error { r.reply = body; return nil }
func (r *request) Session() any            { return nil }
func (r *request) SetSession(any)          {}
func (r *request) Trust()                  {}

// trust remembers the key of the master from the first contact.
type trust struct{ master string }

func (t *trust) Master() (string, error)       { return t.master, nil }
func (t *trust) SetMaster(_, pem string) error { t.master = pem; return nil }
func (t *trust) Signing() ([]string, error)    { return nil, errors.New("no signing key") }

// newServer returns a master that accepts every minion and keeps its files in dir.
func newServer(dir string) (*channel.Server, error) {
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		return nil, err
	}
	keys, err := pki.Open(filepath.Join(dir, "pki"), pki.Options{})
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := root.Mkdir("sessions", 0o700); err != nil {
		return nil, err
	}
	sessions, err := root.OpenRoot("sessions")
	if err != nil {
		return nil, err
	}
	secrets, err := channel.NewSecrets(sessions, 0)
	if err != nil {
		return nil, err
	}
	signIn := channel.NewSignInServer(key, keys, secrets, channel.SignInOptions{
		Policy: channel.Policy{OpenMode: true}, PublishPort: 4505, Log: logging.Discard()})
	return channel.NewServer(key, keys, secrets, signIn, pings{},
		channel.ServerOptions{Log: logging.Discard()}), nil
}

// A minion signs in to a master by itself when it sends its first request.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	server, err := newServer(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := channel.NewClient(key, &trust{}, wire{server},
		channel.ClientOptions{ID: "web1", Log: logging.Discard()})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(client.Call(context.Background(), data.NewMap("cmd", "ping")))
	// Output: pong for web1 <nil>
}
