// Package metrics exposes a master to monitoring systems: metrics for Prometheus under /metrics,
// and health checks under /livez and /readyz.
//
// The metrics about jobs and returns are counted from the events of the master's bus. They have the
// names and labels of the program salt-exporter, so that its dashboards work here too. The others
// begin with brine_ and come from the caller as [Sample]s. The number of labels is bounded: a
// minion chooses the function names in its returns, so only a limited number get labels of their
// own.
package metrics

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/eventbus"
)

// Options configure a Server.
type Options struct {
	Address     string // host:port to listen at
	Certificate string // file of a TLS certificate in PEM; empty means no TLS
	Key         string // file of its key
	MinionLabel bool   // counters of functions have a label minion, which makes many series
	Samples     []Sample
	Parts       func() []Part   // states of the daemon's parts; may be nil
	Ready       func() error    // returns why the master cannot work, or nil
	Notes       func() []string // lines that /readyz tells of a master that can work; may be nil
	Log         logrus.FieldLogger
	Now         func() time.Time // nil means time.Now
}

// A Sample is a metric that is read on each scrape.
type Sample struct {
	Name, Help string
	Labels     map[string]string
	Counter    bool // the value never decreases
	Value      func() float64
}

// A Server serves metrics to monitoring systems.
type Server struct {
	o        Options
	listener net.Listener
	registry *prometheus.Registry
	jobs     *jobs
}

// New listens on the address. The error names the invalid option. The caller must Serve or Close
// the server.
func New(ctx context.Context, o Options) (*Server, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{o: o, registry: prometheus.NewRegistry()}
	s.jobs = newJobs(s.registry, o)
	if err := s.register(); err != nil {
		return nil, err
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("metrics_address: %w", err)
	}
	if s.listener, err = secure(l, o); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return s, nil
}

// secure adds TLS to a listener if a certificate is configured.
func secure(l net.Listener, o Options) (net.Listener, error) {
	if o.Certificate == "" {
		return l, nil
	}
	pair, err := tls.LoadX509KeyPair(o.Certificate, o.Key)
	if err != nil {
		return nil, fmt.Errorf("metrics_certificate: %w", err)
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12,
		Certificates: []tls.Certificate{pair}}), nil
}

// register adds the metrics that are not counted from events.
func (s *Server) register() error {
	errs := []error{
		s.registry.Register(collectors.NewGoCollector()),
		s.registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	}
	if s.o.Parts != nil {
		errs = append(errs, s.registry.Register(newParts(s.o.Parts)))
	}
	for _, sample := range s.o.Samples {
		errs = append(errs, s.registry.Register(collectorOf(sample)))
	}
	return errors.Join(errs...)
}

func collectorOf(s Sample) prometheus.Collector {
	o := prometheus.Opts{Name: s.Name, Help: s.Help, ConstLabels: s.Labels}
	if s.Counter {
		return prometheus.NewCounterFunc(prometheus.CounterOpts(o), s.Value)
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts(o), s.Value)
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close releases the address of a server that does not serve.
func (s *Server) Close() error {
	if err := s.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Serve counts the events of a bus and answers requests until ctx ends.
func (s *Server) Serve(ctx context.Context, bus *eventbus.Bus) error {
	events := bus.Subscribe(eventbus.SubscribeOptions{
		Name:     "metrics",
		Prefixes: []string{"salt/job/", "salt/run/", "salt/beacon/", "salt/key"},
	})
	defer events.Close()
	counted := make(chan struct{})
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(counted)
		for e := range events.All(ctx) {
			s.jobs.count(e)
		}
	}()
	err := s.answer(ctx)
	cancel()
	<-counted
	return err
}

// Timeouts of requests. Slower clients are disconnected.
const (
	headerTime = 5 * time.Second
	answerTime = 30 * time.Second
	idleTime   = 2 * time.Minute
)

// answer serves requests until ctx ends.
func (s *Server) answer(ctx context.Context) error {
	server := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       headerTime,
		WriteTimeout:      answerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    16 << 10,
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // Serve returns the error
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return ctx.Err()
}

// handler returns the HTTP handler.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry,
		promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	return mux
}

// ready answers whether the master can work.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if err := s.o.Ready(); err != nil {
		reply(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	lines := []string{"ok"}
	if s.o.Notes != nil {
		lines = append(lines, s.o.Notes()...)
	}
	reply(w, http.StatusOK, strings.Join(lines, "\n"))
}

func reply(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = fmt.Fprintln(w, text) // the client may have disconnected
}
