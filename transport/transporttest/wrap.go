package transporttest

import (
	"context"

	"github.com/brineproject/brine/transport"
)

// wrapped returns a transport whose requests and replies are any bytes.
func wrapped(tr Transport) Transport {
	w := tr
	w.ListenReply = func(ctx context.Context, endpoint string, o transport.Options) (transport.Replier, error) {
		r, err := tr.ListenReply(ctx, endpoint, o)
		return wrappedReplier{r, tr}, err
	}
	w.NewRequester = func(d transport.Dialer) transport.Requester { return wrappedRequester{tr.NewRequester(d), tr} }
	return w
}

type wrappedReplier struct {
	transport.Replier
	tr Transport
}

func (r wrappedReplier) Serve(ctx context.Context, h transport.Handler) error {
	return r.Replier.Serve(ctx, func(ctx context.Context, q transport.Request) { h(ctx, wrappedRequest{q, r.tr}) })
}

type wrappedRequest struct {
	transport.Request
	tr Transport
}

func (r wrappedRequest) Body() []byte { return r.tr.Unwrap(r.Request.Body()) }

func (r wrappedRequest) Reply(body []byte) error { return r.Request.Reply(r.tr.Wrap(body)) }

type wrappedRequester struct {
	transport.Requester
	tr Transport
}

func (q wrappedRequester) Do(ctx context.Context, body []byte) ([]byte, error) {
	reply, err := q.Requester.Do(ctx, q.tr.Wrap(body))
	if err != nil {
		return nil, err
	}
	return q.tr.Unwrap(reply), nil
}

func (q wrappedRequester) Hurry() { q.Requester.(transport.Hurrier).Hurry() }
