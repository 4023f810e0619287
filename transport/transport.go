// Package transport carries opaque bytes between hosts: requests with one reply each, and publications from one to many.
//
// It has the words that all transports share. What speaks on the wire are the packages below it, such as
// transport/zeromq; who may speak, and what the bytes mean, is decided above it, in package channel. A transport
// promises that no peer can stop the others: queues are bounded, messages are refused by their announced length before
// memory is spent on them, a reader that does not read loses messages and then its connection, and garbage costs the
// sender its connection and nobody else anything.
//
// A server is made by a Listen function of the transport, which binds, and runs in Serve until its context ends; then it
// takes no more work, finishes and sends what it has, for at most [Options.Linger], and closes. A client is made from a
// [Dialer] and keeps one connection up for ever, with growing pauses between attempts.
//
// All transports pass the suite of package transport/transporttest.
package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Errors that callers decide on.
var (
	// ErrDisconnected is returned for a request that was under way when the connection was lost: the other side may or
	// may not have seen it, so that only the caller knows whether to send it again.
	ErrDisconnected = errors.New("connection lost")
	// ErrClosed is returned by whatever was closed before or meanwhile.
	ErrClosed = errors.New("transport closed")
	// ErrGone is returned by Reply when the connection that the request came by has ended.
	ErrGone = errors.New("peer has gone")
	// ErrQueueFull is returned when a peer does not read and its queue has reached its limit.
	ErrQueueFull = errors.New("queue of the peer is full")
	// ErrReplied is returned by the second Reply to one request.
	ErrReplied = errors.New("request was replied to before")
	// ErrTooLarge is wrapped when a message exceeds the limit of its connection.
	ErrTooLarge = errors.New("message is too large")
	// ErrProtocol is wrapped when a peer breaks the rules of the protocol.
	ErrProtocol = errors.New("protocol error")
)

// Ordinary reports whether err is how connections end every day, which no log need tell.
func Ordinary(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, context.Canceled)
}

// A Request is one message that waits for a reply. Its methods may be called by several goroutines.
type Request interface {
	// Body is what was sent. It belongs to the receiver of the request.
	Body() []byte
	// Remote is the address of the peer.
	Remote() net.Addr
	// Reply answers on the connection that the request came by, and never waits for the peer. It returns ErrGone,
	// ErrQueueFull or ErrReplied. The body must not be changed afterwards.
	Reply(body []byte) error
	// Session returns the value that SetSession kept with the connection, nil at first.
	Session() any
	// SetSession keeps v for as long as the connection lasts.
	SetSession(v any)
	// Trust says that the peer has proved who it is: from now on the limits of known peers hold for its connection,
	// and for a while for other connections from its address, because older minions use one connection a request.
	Trust()
}

// A Handler answers one request. It must reply before it returns; a request left without a reply closes the
// connection, so that the peer need not wait. ctx ends when the connection or the server does. Handlers run on a
// bounded number of goroutines.
type Handler func(ctx context.Context, r Request)

// A Replier is a server that answers requests.
type Replier interface {
	// Serve answers requests with h until ctx ends or Close is called, and then returns nil. It may be called once.
	Serve(ctx context.Context, h Handler) error
	Addr() net.Addr
	Stats() Stats
	// Close ends the server without lingering. It is needed only where Serve is never called.
	Close() error
}

// A Publisher is a server that sends every message to all peers that subscribed to it.
type Publisher interface {
	// Serve runs the server until ctx ends or Close is called, and then returns nil. It may be called once.
	Serve(ctx context.Context) error
	// Publish queues m for the subscribers that there are now. It never waits for a peer. The body must not be
	// changed afterwards.
	Publish(m Message)
	// Peers returns the number of connections.
	Peers() int
	Addr() net.Addr
	Stats() Stats
	// Close ends the server without lingering. It is needed only where Serve is never called.
	Close() error
}

// A Message is one publication.
type Message struct {
	// Topics are the names that it goes to, each as a message of its own with the topic before the body. Nil sends
	// the body alone, to all.
	Topics []string
	// IDs are the minions that it is for, nil where only they can tell. A transport whose subscribers say who they are
	// (tcp) sends it to these, and to those that it does not know; others look at Topics alone.
	IDs  []string
	Body []byte
}

// A Requester sends requests and awaits the replies. Several goroutines may use it at once.
type Requester interface {
	// Do sends one request and returns its reply, which is the caller's. It waits for a connection, and for the reply, for as long as ctx
	// lasts. It returns ErrDisconnected when the connection was lost meanwhile, ErrClosed after Close.
	Do(ctx context.Context, body []byte) ([]byte, error)
	// Close ends the requests under way with ErrClosed.
	Close() error
}

// A Hurrier is a [Requester] that can be told that its server is there again.
type Hurrier interface {
	// Hurry ends the pause before the next attempt to connect, if there is no connection.
	Hurry()
}

// A Subscriber receives publications.
type Subscriber interface {
	// Run hands each publication to fn, one after another, until ctx ends, and then returns nil. The topic is nil for
	// a publication without one. While fn runs nothing more is read: a slow fn makes the publisher drop messages.
	// What is published while the connection is down is lost; the dialer's OnState tells of it.
	Run(ctx context.Context, fn func(topic, body []byte)) error
}

// Stats counts what a server did since it was made.
type Stats struct {
	Connections       int    // open now, handshakes included
	Accepted          uint64 // connections taken
	Refused           uint64 // closed at once because of a limit on connections
	HandshakeFailures uint64 // never became peers: silence, garbage, another protocol
	ProtocolErrors    uint64 // peers closed because of what they sent
	TooLarge          uint64 // of these, messages over a limit
	Received          uint64 // requests
	Sent              uint64 // messages given to a peer's connection or queue
	Dropped           uint64 // messages not sent because the peer's queue was full
	Evicted           uint64 // peers closed because they did not read, or did not answer heartbeats
	Unanswered        uint64 // requests whose handler returned without a reply
	Panics            uint64 // handlers that panicked
}
