// Package zeromq implements ZeroMQ's wire protocol, ZMTP 3.1 with the NULL mechanism, like Salt's
// default transport: a publisher (PUB) and a replier (ROUTER) for the master, a subscriber (SUB)
// and a requester (DEALER, where Salt uses REQ) for minions and programs, and a receiver (PULL) for
// the socket publish_pull.ipc.
//
// Each connection is wrapped in a guard that reads ahead. It limits the handshake, rejects frames by
// their announced length, assembles large frames as they arrive, removes commands (heartbeats,
// subscriptions) from the stream and tracks silence. Messages are read directly from the guard,
// without a copy of large frames. Outgoing messages are encoded once and written without blocking.
// What the kernel does not accept is queued, and sent by a goroutine that ends when the queue is
// empty. An idle connection costs one goroutine.
//
// Other peers see the behavior of libzmq 4.3: the same greeting and order of properties, and
// subscriptions as commands for ZMTP 3.1 or as messages for 3.0. Three things differ:
//
//   - The requester prefixes each request with eight bytes of its own, as a DEALER may. A Salt
//     master returns them, so that many requests share one connection and a late reply is never
//     assigned to the wrong request.
//   - Replies are sent on the connection of the request. Routing identities are read and ignored.
//   - A request without the empty delimiter frame, or with other than one frame after it, closes
//     the connection.
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
