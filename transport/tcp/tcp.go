// Package tcp speaks Salt's transport tcp: streams of MessagePack maps {"head": …, "body": …} with nothing between them,
// bare or under TLS. It has what transport/zeromq has: a publisher and a replier for the master, a subscriber and a
// requester for minions and programs, and a puller for the socket publish_pull.ipc.
//
// On the request port a message id stands in the head of a request and comes back unchanged in that of its reply, so
// that many requests share one connection and replies come in any order. Bodies are what other transports carry as bytes:
// here they are MessagePack within MessagePack, and are turned from the wire form into the bin form that Salt writes.
// A body that is no MessagePack value cannot be sent.
//
// On the publish port a minion says first who it is; what proves it is looked at by the function that
// [Publisher.SetIdentify] is given. A publication for certain minions goes to their connections, and to those that
// have not said who they are, which get everything, as with ZeroMQ: nobody misses a job because its name is still on the
// way. A connection whose proof is wrong is closed after a moment, for its minion then signs in anew. Publications are
// sent as bytes, which minions of every version take: those since 3007.0 nothing else, those before both
// (salt/transport/tcp.py, _decode_messages). The subscriber here takes both forms.
//
// Nothing is believed of lengths: a message is walked as it arrives by package payload's reader of frames, which
// refuses what is too large, too deep or no MessagePack at its first wrong byte, and whose memory grows with what has
// come. A message that has begun must go on; a peer that has not asked anything in time is closed. Since the protocol has no
// heartbeats, TCP's keepalive finds out who is gone, within a minute unless an operator has set it otherwise than by
// Salt's defaults, and on Linux also what is sent and not acknowledged.
//
// The formats are those of Salt's salt/transport/tcp.py, salt/transport/frame.py and salt/transport/base.py.
package tcp

import (
	"context"

	"github.com/brineproject/brine/transport"
)

var (
	_ transport.Replier     = (*Replier)(nil)
	_ transport.Publisher   = (*Publisher)(nil)
	_ transport.PeerWatcher = (*Publisher)(nil)
	_ transport.Requester   = (*Requester)(nil)
	_ transport.Hurrier     = (*Requester)(nil)
	_ transport.Subscriber  = (*Subscriber)(nil)
	_ transport.Request     = (*request)(nil)
)

// ListenReply binds endpoint and returns a replier, whose Serve answers the requests. A nil t is no TLS.
func ListenReply(ctx context.Context, endpoint string, o transport.Options, t *TLS) (*Replier, error) {
	l, err := transport.Listen(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	return NewReplier(l, o, t), nil
}

// ListenPub binds endpoint and returns a publisher. A nil t is no TLS.
func ListenPub(ctx context.Context, endpoint string, o transport.Options, t *TLS) (*Publisher, error) {
	l, err := transport.Listen(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	return NewPublisher(l, o, t), nil
}

// ListenPull binds endpoint and returns a puller.
func ListenPull(ctx context.Context, endpoint string, o transport.Options) (*Puller, error) {
	l, err := transport.Listen(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	return NewPuller(l, o), nil
}
