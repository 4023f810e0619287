// Package zeromq speaks ZeroMQ's wire protocol, ZMTP 3.1 with the NULL mechanism, as Salt's default transport does: a
// publisher (PUB) and a replier (ROUTER) on the master, a subscriber (SUB) and a requester (DEALER, where Salt has a REQ)
// on minions and in programs, and a receiver (PULL) for the socket publish_pull.ipc.
//
// The handshake is that of github.com/go-zeromq/zmq4, which is imported here only. Each connection is wrapped in a guard
// that reads ahead: it bounds the handshake, refuses frames by their announced length, assembles large ones as they
// arrive, takes the commands (heartbeats, subscriptions) out of the stream and counts silence. After the handshake
// messages are read from the guard, without the library, which would copy large frames. What goes out is encoded once and written past the library without waiting: what the kernel does not take is
// queued, and a goroutine that lives until the queue is empty sends it. An idle connection costs one goroutine.
//
// To other peers all of it looks like libzmq 4.3: the same greeting, the same order of properties, subscriptions as
// commands to peers of ZMTP 3.1 and as messages to those of 3.0. Odd are these:
//
//   - The requester prefixes each request with eight bytes of its own, as a DEALER may; the devices of a Salt master hand
//     them back, so that many requests share one connection and a late reply never meets the wrong request.
//   - Replies go to the connection that the request came by. Routing identities are read and ignored.
//   - A request without the empty delimiter frame, or with other than one frame after it, costs the connection.
package zeromq

import (
	"context"

	"github.com/brineproject/brine/transport"
)

var (
	_ transport.Replier    = (*Replier)(nil)
	_ transport.Publisher  = (*Publisher)(nil)
	_ transport.Requester  = (*Requester)(nil)
	_ transport.Hurrier    = (*Requester)(nil)
	_ transport.Subscriber = (*Subscriber)(nil)
	_ transport.Request    = (*request)(nil)
)

// ListenReply binds endpoint and returns a replier, whose Serve answers the requests.
func ListenReply(ctx context.Context, endpoint string, o transport.Options) (*Replier, error) {
	l, err := transport.Listen(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	return NewReplier(l, o), nil
}

// ListenPub binds endpoint and returns a publisher.
func ListenPub(ctx context.Context, endpoint string, o transport.Options) (*Publisher, error) {
	l, err := transport.Listen(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	return NewPublisher(l, o), nil
}

// ListenPull binds endpoint and returns a puller.
func ListenPull(ctx context.Context, endpoint string, o transport.Options) (*Puller, error) {
	l, err := transport.Listen(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	return NewPuller(l, o), nil
}
