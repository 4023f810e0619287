// Package transport carries opaque bytes between hosts: requests with one reply each, and
// publications from one sender to many receivers.
//
// It defines the types shared by all transports. The wire protocols are implemented in subpackages
// such as transport/zeromq. Package channel decides which peers may communicate and what the bytes
// mean. A transport guarantees that no peer can block others: queues are bounded; messages are
// rejected by their announced length before memory is allocated; a peer that does not read loses
// messages and then its connection; and invalid data only costs its sender the connection.
//
// A Listen function of a transport creates and binds a server. Serve runs it until its context
// ends. Then it accepts no more work, finishes and sends what is pending for at most
// [Options.Linger], and closes. A client is created from a [Dialer] and keeps one connection up
// indefinitely, with growing pauses between attempts.
//
// All transports pass the tests of package transport/transporttest.
package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
)

// Errors on which callers base decisions.
var (
	// ErrDisconnected is returned for a request that was pending when the connection was lost. The
	// peer may or may not have received it, so only the caller can decide whether to send it again.
	ErrDisconnected = errors.New("connection lost")
	// ErrClosed is returned by operations on something that is closed.
	ErrClosed = errors.New("transport closed")
	// ErrGone is returned by Reply if the connection of the request has ended.
	ErrGone = errors.New("peer has gone")
	// ErrQueueFull is returned if a peer does not read and its queue has reached its limit.
	ErrQueueFull = errors.New("queue of the peer is full")
	// ErrReplied is returned by a second Reply to a request.
	ErrReplied = errors.New("request was replied to before")
	// ErrTooLarge is wrapped if a message exceeds the limit of its connection.
	ErrTooLarge = errors.New("message is too large")
	// ErrProtocol is wrapped if a peer violates the protocol.
	ErrProtocol = errors.New("protocol error")
)

// Ordinary reports whether err is a normal end of a connection, which need not be logged.
func Ordinary(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, context.Canceled)
}

// A Request is a message that expects a reply. It is safe for concurrent use.
type Request interface {
	// Body returns the message. It belongs to the receiver of the request.
	Body() []byte
	// Remote returns the address of the peer.
	Remote() net.Addr
	// Reply sends the reply on the connection of the request, without blocking. It returns ErrGone,
	// ErrQueueFull or ErrReplied. The body must not be modified afterwards.
	Reply(body []byte) error
	// Session returns the value set by SetSession for the connection, initially nil.
	Session() any
	// SetSession stores v for the lifetime of the connection.
	SetSession(v any)
	// Trust marks the peer as authenticated: the limits of trusted peers apply to its connection
	// and, for a while, to other connections from its address, because older minions use one
	// connection per request.
	Trust()
}

// A Handler answers one request. It must reply before it returns; otherwise the connection is
// closed, so that the peer does not wait. ctx ends with the connection or the server. Handlers run
// on a bounded number of goroutines.
type Handler func(ctx context.Context, r Request)

// A Replier is a server that answers requests.
type Replier interface {
	// Serve answers requests with h until ctx ends or Close is called, and then returns nil. It may
	// be called at most once.
	Serve(ctx context.Context, h Handler) error
	Addr() net.Addr
	Stats() Stats
	// Close ends the server without lingering. It is only needed if Serve is never called.
	Close() error
}

// A Publisher is a server that sends every message to all peers that subscribed to it.
type Publisher interface {
	// Serve runs the server until ctx ends or Close is called, and then returns nil. It may be
	// called at most once.
	Serve(ctx context.Context) error
	// Publish queues m for the current subscribers. It never waits for a peer. The body must not be
	// modified afterwards.
	Publish(m Message)
	// Peers returns the number of connections.
	Peers() int
	Addr() net.Addr
	Stats() Stats
	// Close ends the server without lingering. It is only needed if Serve is never called.
	Close() error
}

// A Message is one publication.
type Message struct {
	// Topics are the topics to publish to. Each makes a message of its own with the topic before
	// the body. nil sends the body alone to all.
	Topics []string
	// IDs are the target minions, or nil if only the minions can decide. A transport that
	// identifies its subscribers (tcp) sends the message to these and to unidentified ones; others
	// use Topics only.
	IDs  []string
	Body []byte
}

// A Requester sends requests and waits for their replies. It is safe for concurrent use.
type Requester interface {
	// Do sends a request and returns its reply, which the caller owns. It waits for a connection
	// and for the reply until ctx ends. It returns ErrDisconnected if the connection was lost, and
	// ErrClosed after Close.
	Do(ctx context.Context, body []byte) ([]byte, error)
	// Close makes pending requests fail with ErrClosed.
	Close() error
}

// A Hurrier is a [Requester] that can be told that its server is available again.
type Hurrier interface {
	// Hurry ends the pause before the next attempt to connect, if there is no connection.
	Hurry()
}

// A Subscriber receives publications.
type Subscriber interface {
	// Run calls fn with each publication, one at a time, until ctx ends, and then returns nil.
	// topic is nil for a publication without one. Nothing is read while fn runs, so a slow fn makes
	// the publisher drop messages. Publications sent while the connection is down are lost; the
	// dialer's OnState reports such gaps.
	Run(ctx context.Context, fn func(topic, body []byte)) error
}

// Stats counts the activity of a server since it was created.
type Stats struct {
	Connections       int    // open now, handshakes included
	Accepted          uint64 // connections accepted
	Refused           uint64 // closed at once because of a connection limit
	HandshakeFailures uint64 // failed handshakes: silence, invalid data, another protocol
	ProtocolErrors    uint64 // peers closed because of invalid data
	TooLarge          uint64 // of these, because of messages over a limit
	Received          uint64 // requests
	Sent              uint64 // messages written to a peer's connection or queue
	Dropped           uint64 // messages not sent because the peer's queue was full
	Evicted           uint64 // peers closed because they did not read or answer heartbeats
	Unanswered        uint64 // requests whose handler returned without a reply
	Panics            uint64 // handlers that panicked
}
