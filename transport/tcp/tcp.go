// Package tcp implements Salt's transport tcp: streams of MessagePack maps {"head": …, "body": …}
// without separators, with or without TLS. Like transport/zeromq it has a publisher and a replier
// for the master, a subscriber and a requester for minions and programs, and a puller for the
// socket publish_pull.ipc.
//
// On the request port, a message id in the head of a request is copied to the head of its reply. So
// many requests share one connection, and replies may arrive in any order. Bodies are bytes in
// other transports; here they are MessagePack within MessagePack, converted from the wire form to
// the bin form that Salt writes. A body that is not a MessagePack value cannot be sent.
//
// On the publish port, a minion first identifies itself. The function set with
// [Publisher.SetIdentify] checks its proof. A publication for certain minions is sent to their
// connections and to unidentified ones. Those receive everything, as with ZeroMQ, so that no minion
// misses a job while its identification is in transit. A connection with an invalid proof is closed
// after a moment, which makes its minion sign in again. Publications are sent as bytes, which
// minions of every version accept; those since 3007.0 accept nothing else (salt/transport/tcp.py,
// _decode_messages). The subscriber here accepts both forms.
//
// Announced lengths are not trusted. Package payload checks a message as it arrives, and rejects it
// at the first byte that makes it too large, too deep or invalid; memory grows with the received
// data only. A message that has begun must make progress, and a peer without requests is closed
// after a timeout. The protocol has no heartbeats, so TCP keepalive detects dead peers: within a
// minute, unless an operator has changed Salt's defaults. On Linux unacknowledged data is detected
// too.
//
// The formats are those of Salt's salt/transport/tcp.py, salt/transport/frame.py and
// salt/transport/base.py.
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

// ListenReply binds endpoint and returns a replier. A nil t means no TLS.
func ListenReply(
	ctx context.Context, endpoint string, o transport.Options, t *TLS,
) (*Replier, error) {
	l, err := transport.Listen(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	return NewReplier(l, o, t), nil
}

// ListenPub binds endpoint and returns a publisher. A nil t means no TLS.
func ListenPub(
	ctx context.Context, endpoint string, o transport.Options, t *TLS,
) (*Publisher, error) {
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
