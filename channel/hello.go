package channel

import (
	"context"
	"fmt"
	"strconv"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
)

// Hello returns the first message of a minion on the publish port of transport tcp: its id, under
// the shared key (salt/channel/client.py, send_id). It signs in if there are no credentials.
func (c *Client) Hello(ctx context.Context) ([]byte, error) {
	creds, err := c.signedIn(ctx)
	if err != nil {
		return nil, err
	}
	plain, err := payload.Marshal(data.NewMap("id", c.opts.ID, "tok", c.proof))
	if err != nil {
		return nil, err
	}
	hello := payload.Envelope{
		Enc:     "aes",
		Load:    payload.BlobOf(creds.Shared.Seal(plain, "")),
		Version: max(creds.Version, 2),
	}
	return hello.Marshal(), nil
}

// Identify returns the minion that sent a hello. The id is empty for a message that is not a hello,
// for example because it is not encrypted. The error explains why a hello proves nothing, for
// example because it is under an old key (salt/channel/server.py, presence_callback).
func (s *Server) Identify(hello []byte) (id string, err error) {
	env, err := payload.ParseEnvelope(hello, payload.PreAuthLimits())
	if err != nil || env.Enc != "aes" {
		return "", nil
	}
	blob, ok := env.Blob()
	if !ok {
		return "", errNoBlob
	}
	plain, err := s.secrets.Shared().Open(blob, "")
	if err != nil {
		return "", err
	}
	load, err := payload.ParseFields(plain, payload.PreAuthLimits())
	if err != nil {
		return "", err
	}
	id, _ = load.Text("id")
	token, _ := load.Bytes("tok")
	if !s.tokenProves(id, s.acceptedKey(id), token) {
		return "", fmt.Errorf("minion %s: %w", strconv.QuoteToGraphic(id), errNoProof)
	}
	return id, nil
}
