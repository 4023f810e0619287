package saltrun

import (
	"context"
	"errors"
	"io/fs"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

// inMaster has the running master call a runner, with the key of the user of this program, and returns what the runner returned.
// running is false where nothing listens at the master's bus. A runner that breaks off there gives its text as the error.
func (h *host) inMaster(ctx context.Context, fun string, kwargs *data.Map) (result any, running bool, err error) {
	limited, cancel := context.WithTimeout(ctx, h.r.requestTimeout())
	defer cancel()
	bus, err := eventbus.Dial(limited, h.Sockets(), eventbus.ClientOptions{
		Subscribe: eventbus.SubscribeOptions{Prefixes: []string{eventbus.Tagify("run") + "/"}},
	})
	switch {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		return nil, true, err
	case err != nil:
		h.r.log.WithError(err).Debug("no master runs")
		return nil, false, nil
	}
	defer bus.Close()
	key, err := h.Key()
	if err != nil {
		return nil, true, err
	}
	tag, err := h.r.order(ctx, runners.Call{Fun: fun, Kwargs: kwargs}, key)
	if err != nil {
		return nil, true, err
	}
	body, err := h.r.await(ctx, bus, tag)
	if err != nil {
		return nil, true, err
	}
	if body.Value("success") == false {
		return nil, true, loader.Execution("%s", data.Str(body.Value("return")))
	}
	return body.Value("return"), true, nil
}
