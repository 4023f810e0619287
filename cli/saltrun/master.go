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

// callInMaster calls a runner on the running master, with the key of this program's user, and
// returns the runner's result. running is false if nothing listens at the master's bus. If the
// runner fails its text is the error.
func (h *host) callInMaster(
	ctx context.Context, fun string, kwargs *data.Map,
) (result any, running bool, err error) {
	limited, cancel := context.WithTimeout(ctx, h.r.requestTimeout())
	defer cancel()
	bus, err := eventbus.Dial(limited, h.Sockets(), eventbus.ClientOptions{
		Subscribe: eventbus.SubscribeOptions{Prefixes: []string{eventbus.Tagify("run") + "/"}},
	})
	switch {
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, context.DeadlineExceeded) ||
		ctx.Err() != nil:
		return nil, true, err
	case err != nil:
		h.r.log.WithError(err).Debug("connect to the master's bus")
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
