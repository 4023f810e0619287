// Package webhook is Salt's engine webhook: an HTTP server whose requests become events
// (salt/engines/webhook.py).
//
//	engines:
//	  - webhook: {address: 192.0.2.7, port: 8000, ssl_crt: /etc/pki/hook.crt, ssl_key: /etc/pki/hook.key}
//
// Nobody has to log in: whoever reaches the port can fire events below salt/engines/hook/. A POST
// to /TAG fires salt/engines/hook/TAG with the headers and the body. A minion sends
// the event to its masters, as salt/minion/ID/hook/TAG.
//
// Differences from Salt: masters take no other tags of webhooks from minions; a body may have 1 MiB,
// and a certificate without a key, or a key alone, is an error. There may be 200 connections, and 50
// from one network.
package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/loglimit"
)

const (
	maxBody = 1 << 20
	timeout = 30 * time.Second
	stopFor = 2 * time.Second
)

type hook struct {
	host     engines.Host
	address  string
	crt, key string
	listen   func(ctx context.Context, address string) (net.Listener, error)
	busy     *semaphore.Weighted // requests under way
}

// prefix returns how the tags begin: as Salt's on a master, and as a master takes them from a minion.
func (w *hook) prefix() string {
	if w.host.Minions == nil && w.host.ID != "" {
		return "salt/minion/" + w.host.ID + "/hook/"
	}
	return "salt/engines/hook/"
}

// New makes the engine. The options address (all addresses) and port (5000) are where it listens,
// ssl_crt and ssl_key the files of its certificate.
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options, "address", "port", "ssl_crt", "ssl_key"); err != nil {
		return nil, err
	}
	w := &hook{host: h, busy: semaphore.NewWeighted(maxConns)}
	w.listen = func(ctx context.Context, address string) (net.Listener, error) {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	}
	port, err := engines.Port(options, "port", 5000)
	if err != nil {
		return nil, err
	}
	texts := map[string]*string{"address": &w.address, "ssl_crt": &w.crt, "ssl_key": &w.key}
	for name, at := range texts {
		if options.Value(name) == nil {
			continue
		}
		if *at, err = engines.Text(options, name, ""); err != nil {
			return nil, err
		}
	}
	if (w.crt == "") != (w.key == "") {
		return nil, errors.New("ssl_crt and ssl_key are needed together")
	}
	w.address = net.JoinHostPort(w.address, strconv.Itoa(port))
	return w.run, nil
}

func (w *hook) run(ctx context.Context) error {
	requests, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true) // with HTTP/2 a connection could have many bodies at once
	server := &http.Server{Handler: http.HandlerFunc(w.serve), ReadHeaderTimeout: timeout, ReadTimeout: timeout,
		WriteTimeout: timeout, IdleTimeout: timeout, MaxHeaderBytes: 64 << 10, Protocols: protocols,
		ErrorLog:    log.New(&noises{host: w.host}, "", 0),
		BaseContext: func(net.Listener) context.Context { return requests }}
	if w.crt != "" {
		pair, err := tls.LoadX509KeyPair(w.crt, w.key)
		if err != nil {
			return fmt.Errorf("read the certificate: %w", err)
		}
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	opened, err := w.listen(ctx, w.address)
	if err != nil {
		return err
	}
	listener := newPort(opened, w.host)
	w.host.Log.Infof("engine %s: listens on %s", w.host.Name, listener.Addr())
	failed := make(chan error, 1)
	go func() {
		if w.crt != "" {
			failed <- server.ServeTLS(listener, "", "")
		} else {
			failed <- server.Serve(listener)
		}
	}()
	select {
	case err = <-failed:
		return errors.Join(err, w.stop(ctx, server, end))
	case <-ctx.Done():
	}
	err = w.stop(ctx, server, end)
	<-failed
	return errors.Join(ctx.Err(), err)
}

// stop lets requests finish, ends those that do not, and waits for them.
func (w *hook) stop(ctx context.Context, server *http.Server, end func()) (err error) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopFor)
	defer cancel()
	if server.Shutdown(late) != nil {
		err = server.Close()
	}
	end()
	last, done := context.WithTimeout(context.WithoutCancel(ctx), stopFor)
	defer done()
	if w.busy.Acquire(last, maxConns) != nil {
		return errors.Join(err, errors.New("requests do not end"))
	}
	w.busy.Release(maxConns)
	return err
}

// noises receives what net/http logs.
type noises struct {
	host engines.Host
	told loglimit.Limiter
}

// Write logs one line. Handshakes that fail are nobody's fault here: scanners of ports cause them.
func (n *noises) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if strings.HasPrefix(text, "http: TLS handshake error") {
		n.host.Log.Debugf("engine %s: %.500q", n.host.Name, text)
	} else {
		n.told.Warnf(n.host.Log, "", "engine %s: %.5000q", n.host.Name, text)
	}
	return len(line), nil
}

func (w *hook) serve(out http.ResponseWriter, r *http.Request) {
	if w.busy.Acquire(r.Context(), 1) != nil {
		return // the engine ends
	}
	defer w.busy.Release(1)
	if r.Method != http.MethodPost {
		http.Error(out, "only POST", http.StatusMethodNotAllowed)
		return
	}
	name := w.prefix() + strings.TrimPrefix(r.URL.Path, "/")
	if err := eventbus.CheckForeignTag(name); err != nil {
		http.Error(out, "the path is no tag of an event", http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(out, r.Body, maxBody))
	if err != nil {
		status := http.StatusBadRequest
		if _, is := errors.AsType[*http.MaxBytesError](err); is {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(out, "the body cannot be read", status)
		return
	}
	headers := data.NewMap("Host", r.Host)
	for key, values := range r.Header {
		headers.Set(key, strings.Join(values, ","))
	}
	var content any = body
	if utf8.Valid(body) {
		content = string(body)
	}
	if err := w.host.FireRaw(r.Context(), name, data.NewMap("headers", headers, "body", content)); err != nil {
		w.host.Log.WithError(err).Errorf("engine %s: fire %q", w.host.Name, name)
		http.Error(out, "the event could not be fired", http.StatusBadGateway)
	}
}
