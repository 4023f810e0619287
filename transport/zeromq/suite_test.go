package zeromq_test

import (
	"context"
	"testing"

	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/transporttest"
	"github.com/brineproject/brine/transport/zeromq"
)

func TestSuite(t *testing.T) {
	hello := append([]byte("\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x01NULL"), make([]byte, 48)...)
	hello = append(hello, "\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03REQ"...)
	transporttest.Run(t, transporttest.Transport{
		ListenReply: func(ctx context.Context, endpoint string, o transport.Options) (transport.Replier, error) {
			return zeromq.ListenReply(ctx, endpoint, o)
		},
		ListenPub: func(ctx context.Context, endpoint string, o transport.Options) (transport.Publisher, error) {
			return zeromq.ListenPub(ctx, endpoint, o)
		},
		NewRequester: func(d transport.Dialer) transport.Requester { return zeromq.NewRequester(d) },
		NewSubscriber: func(d transport.Dialer, topics ...string) transport.Subscriber {
			return zeromq.NewSubscriber(d, topics...)
		},
		Filters: true,
		Hello:   hello,
		Huge:    []byte("\x01\x00\x02\x40\x00\x00\x00\x00\x00\x00\x00"),
		Schemes: []string{"tcp", "ipc"},
	})
}
