package tcp_test

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/tcp"
	"github.com/brineproject/brine/transport/transporttest"
)

func TestSuite(t *testing.T) { transporttest.Run(t, suite(nil, nil)) }

func TestSuiteUnderTLS(t *testing.T) {
	ca := newAuthority(t)
	server, client := ca.server(t, "127.0.0.1"), ca.client(t)
	tr := suite(server, client)
	tr.Schemes = []string{"tcp"} // the name of a unix socket is in no certificate
	tr.Hello, tr.Huge = nil, nil
	transporttest.Run(t, tr)
}

func suite(server, client *tcp.TLS) transporttest.Transport {
	return transporttest.Transport{
		ListenReply: func(ctx context.Context, endpoint string, o transport.Options) (transport.Replier, error) {
			return tcp.ListenReply(ctx, endpoint, o, server)
		},
		ListenPub: func(ctx context.Context, endpoint string, o transport.Options) (transport.Publisher, error) {
			return tcp.ListenPub(ctx, endpoint, o, server)
		},
		NewRequester:  func(d transport.Dialer) transport.Requester { return tcp.NewRequester(d, client) },
		NewSubscriber: func(d transport.Dialer, _ ...string) transport.Subscriber { return tcp.NewSubscriber(d, client) },
		Huge:          []byte("\x82\xa4head\x80\xa4body\xc6\x7f\xff\xff\xff"),
		Schemes:       []string{"tcp", "ipc"},
		Wrap:          wrap,
		Unwrap:        unwrap,
	}
}

func wrap(b []byte) []byte { return payload.BlobOf(b) }

func unwrap(b []byte) []byte {
	body, _ := payload.Bytes(data.Raw(b))
	return body
}
