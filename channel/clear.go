package channel

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
)

// Clear sends an unencrypted request, as the command line does to the master on its host, and
// returns the reply. For a reply of the form {"enc": "clear", "load": …} it returns the load.
func Clear(ctx context.Context, out transport.Requester, load *data.Map) (any, error) {
	body, err := payload.Marshal(data.NewMap("enc", "clear", "load", load,
		"version", int64(Version)))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", load.Text("cmd"), err)
	}
	reply, err := out.Do(ctx, body)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", load.Text("cmd"), err)
	}
	v, err := payload.Unmarshal(reply, payload.WireLimits())
	if err != nil {
		return nil, fmt.Errorf("reply to %s: %w: %w", load.Text("cmd"), ErrBadReply, err)
	}
	if m, ok := v.(*data.Map); ok && m.Has("load") && m.Text("enc") == "clear" {
		return m.Value("load"), nil
	}
	return v, nil
}
