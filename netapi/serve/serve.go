// Package serve is the listener of a door of salt-api: HTTP/1.1 and HTTP/2 with or without TLS, with
// limits on what a client may hold.
//
//	port, err := serve.Listen(ctx, door)      // as root, where the port is below 1024
//	s, err := serve.New(port, serve.Options{Name: "rest_cherrypy", Door: door, Handler: h, Log: log})
//	err = s.Run(ctx)                          // serves until ctx ends
//
// These are the limits. A request header arrives within 10 s, and a body within 60 s and one more
// second for each KiB. A client that accepts no bytes for 60 s is disconnected. Connections without a
// request are closed after 60 s. There may be 2,000 connections besides the streams of max_streams, and from
// one address 500 besides those of max_streams_per_user. Addresses of IPv6 count by their /64, and
// those of this host are not limited, because a proxy may stand there. The bodies that are being read and
// answered have a limit too: see Bodies.
//
// A response of the type text/event-stream, and a connection that a handler takes over, is a stream:
// it may last as long as it likes, and its request's context ends at once when the server stops.
// Other requests may finish for 5 s. The address of a client is that of its connection: headers such
// as X-Forwarded-For do not count.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/netapi"
)

// Options configure a Server.
type Options struct {
	Name    string // of the section: rest_cherrypy
	Door    *netapi.Door
	Handler http.Handler
	Bodies  *Bodies // nil means the server's own
	Log     logrus.FieldLogger
}

// ErrStopping is the cause for which the contexts of requests end when the server stops.
var ErrStopping = errors.New("salt-api is stopping")

// limits are those of the package comment.
type limits struct {
	header, idle time.Duration
	body         time.Duration // for a whole body
	rate         int64         // bytes a second for which a body may take longer
	write        time.Duration // in which a client must accept some bytes
	finish       time.Duration // for requests when the server stops
	connections  int
	perAddress   int
}

func limitsOf(d *netapi.Door) limits {
	return limits{header: 10 * time.Second, idle: time.Minute, body: time.Minute, rate: 1 << 10, write: time.Minute,
		finish: 5 * time.Second, connections: 2000 + d.MaxStreams, perAddress: 500 + d.MaxStreamsPerUser}
}

// maxHeader is the largest header of a request in bytes.
const maxHeader = 64 << 10

// unread is how much a connection of HTTP/2 may send that no handler has read yet, in bytes. It is the least
// that the protocol allows.
const unread = 64 << 10

// A Server serves one door. It runs once.
type Server struct {
	Options
	limits limits
	port   *port
	http   *http.Server
	pair   *pair // nil without TLS
	access *file // nil writes none
	errors *file // likewise
	open   exchanges
	panics loglimit.Limiter
}

// New returns a Server for a port that is open. It reads the certificate and opens the log files. The
// Server owns the port, also after an error.
func New(l net.Listener, o Options) (*Server, error) { return newServer(l, o, limitsOf(o.Door)) }

func newServer(l net.Listener, o Options, most limits) (*Server, error) {
	if o.Bodies == nil {
		o.Bodies = NewBodies(o.Door.MaxBody)
	}
	s := &Server{Options: o, limits: most, port: newPort(l, most, o.Log)}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", o.Name, err), l.Close(), s.access.close(), s.errors.close())
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(s.pair != nil)
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: most.header, IdleTimeout: most.idle,
		MaxHeaderBytes: maxHeader, ConnState: s.port.state, Protocols: protocols,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 100, SendPingTimeout: most.idle, WriteByteTimeout: most.write,
			MaxReceiveBufferPerConnection: unread, MaxReceiveBufferPerStream: unread},
		ErrorLog: log.New(noises{s}, "", 0),
	}
	return s, nil
}

func (s *Server) prepare() (err error) {
	if !s.Door.Plain {
		if s.pair, err = newPair(s.Door, s.Log); err != nil {
			return err
		}
	}
	if s.access, err = openFile(s.Door.AccessLog); err != nil {
		return fmt.Errorf("open log_access_file: %w", err)
	}
	if s.errors, err = openFile(s.Door.ErrorLog); err != nil {
		return fmt.Errorf("open log_error_file: %w", err)
	}
	return nil
}

// Addr returns the address on which the server listens.
func (s *Server) Addr() net.Addr { return s.port.Addr() }

// Connections returns how many connections are open, and how many requests are streams.
func (s *Server) Connections() (all, streams int) { return s.port.count(), s.open.streaming() }

// Reload reads the certificate again and reopens the log files. What cannot be read stays as it was.
func (s *Server) Reload() error {
	var errs []error
	if s.pair != nil {
		errs = append(errs, s.pair.reload())
	}
	errs = append(errs, s.access.reopen(), s.errors.reopen())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// Run serves until ctx ends. Then it stops to listen at once, ends the streams, lets requests finish
// for some seconds and closes all connections.
func (s *Server) Run(ctx context.Context) error {
	defer func() { _ = errors.Join(s.access.close(), s.errors.close()) }() // nothing is buffered
	requests, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(ErrStopping)
	s.http.BaseContext = func(net.Listener) context.Context { return requests }
	served := make(chan error, 1)
	go func() { served <- s.listen() }()
	var err error
	select {
	case err = <-served:
		err = fmt.Errorf("%s: serve %s: %w", s.Name, s.Addr(), err)
	case <-ctx.Done():
	}
	s.stop(end)
	return err
}

func (s *Server) listen() error {
	if s.pair == nil {
		return s.http.Serve(s.port)
	}
	s.http.TLSConfig = s.pair.server()
	return s.http.ServeTLS(s.port, "", "")
}

// stop ends what is under way.
func (s *Server) stop(end context.CancelCauseFunc) {
	within, cancel := context.WithTimeout(context.Background(), s.limits.finish)
	defer cancel()
	s.open.endStreams()
	var closing sync.WaitGroup
	closing.Go(func() { _ = s.http.Shutdown(within) }) // the error is that of the time limit
	_ = s.port.Close()                                 // Shutdown does it too
	s.port.closeUnused()
	s.open.wait(within)
	closing.Wait()
	end(ErrStopping)
	_ = s.http.Close()
	s.port.closeAll()
	last, done := context.WithTimeout(context.Background(), time.Second)
	defer done()
	s.open.wait(last)
}

// noises receives what net/http logs: clients that break off, which are nobody's fault here.
type noises struct{ *Server }

// Write logs one line.
func (n noises) Write(line []byte) (int, error) {
	text := string(line)
	n.Log.Debugf("%s: %s", n.Name, clean(text))
	n.errors.write(fmt.Sprintf("[%s] %s", time.Now().Format(stamp), clean(text)))
	return len(line), nil
}

// below returns the connection below TLS.
func below(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}
