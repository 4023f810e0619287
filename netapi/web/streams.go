package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/stream"
)

// Streams serve the events of a master's bus to the callers of a gate.
type Streams struct {
	Gate    *netapi.Gate
	Hub     *stream.Hub
	Origins *Origins // whose pages may open websockets
	Log     logrus.FieldLogger
}

// Events answers with an event stream (server-sent events). The keys tag and job of the query select
// events; after is the id of the last event that the client has, for a client that cannot send the header
// Last-Event-ID. The error is a *netapi.Fault from before the answer has begun.
func (s *Streams) Events(w http.ResponseWriter, r *http.Request, c netapi.Caller) error {
	l, err := s.listen(r, c)
	if err != nil {
		return err
	}
	defer l.Close()
	w.Header().Set("Cache-Control", "no-cache")
	if r.Method == http.MethodHead {
		w.Header().Set("Content-Type", "text/event-stream;charset=utf-8")
		return nil
	}
	s.ended(r, stream.ServeSSE(w, r, l, stream.SSEOptions{Life: s.life(c)}))
	return nil
}

// WebSocket answers with a websocket. With o.FormatEvents the grains of minions are asked for in the name
// of the caller, as in Salt. The error is a *netapi.Fault from before the answer has begun.
func (s *Streams) WebSocket(w http.ResponseWriter, r *http.Request, c netapi.Caller, o stream.WebSocketOptions) error {
	if err := s.Origins.CheckWebSocket(r); err != nil {
		return err
	}
	l, err := s.listen(r, c)
	if err != nil {
		return err
	}
	defer l.Close()
	o.Life, o.OriginChecked = s.life(c), true
	if o.FormatEvents {
		g := &grains{streams: s, caller: c, wake: make(chan struct{}, 1)}
		o.Ready = func() { g.want([]string{"*"}) }
		o.Joined = g.want
		ctx, stop := context.WithCancel(context.WithoutCancel(r.Context()))
		var asking sync.WaitGroup
		asking.Go(func() { g.run(ctx) })
		defer asking.Wait()
		defer stop()
	}
	s.ended(r, stream.ServeWebSocket(w, r, l, o))
	return nil
}

func (s *Streams) listen(r *http.Request, c netapi.Caller) (*stream.Listener, error) {
	l, err := s.Hub.Listen(s.filter(r, c))
	if err == nil {
		return l, nil
	}
	status := http.StatusServiceUnavailable
	if limit, ok := errors.AsType[*stream.LimitError](err); ok && limit.User != "" {
		status = http.StatusTooManyRequests
	}
	return nil, &netapi.Fault{Status: status, Text: err.Error()}
}

// filter returns the events that a request asks for, and its caller may read.
func (s *Streams) filter(r *http.Request, c netapi.Caller) stream.Filter {
	query := r.URL.Query()
	return stream.Filter{After: cmp.Or(r.Header.Get("Last-Event-ID"), query.Get("after")), Tag: query.Get("tag"),
		Job: query.Get("job"), User: c.User, May: s.May(c)}
}

// May returns which events a caller may read, for stream.Filter; nil means all.
func (s *Streams) May(c netapi.Caller) func(tag string) bool {
	if s.Gate.ReadsAll(c) {
		return nil
	}
	return func(tag string) bool { return s.Hub.Owns(c.User, tag) }
}

// life returns how long the stream of a caller lasts: as long as their token.
func (s *Streams) life(c netapi.Caller) stream.Life {
	return stream.Life{Until: s.Gate.Until(c.Token), Valid: func() bool { return s.Gate.Lives(c.Token) }}
}

// ended notes how a stream ended. Its headers are sent, so that there is no other answer.
func (s *Streams) ended(r *http.Request, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		s.Log.Debugf("the event stream of %s has ended: %v", Address(r), err)
	}
}

// mostWanted limits the minions whose grains are asked for at a time; beyond it, it is all minions.
const mostWanted = 1000

// grains asks minions for their grains for one stream. The answers come as events.
type grains struct {
	streams *Streams
	caller  netapi.Caller
	wake    chan struct{}

	mu     sync.Mutex
	wanted []string
}

func (g *grains) want(ids []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.wanted = append(g.wanted, ids...); len(g.wanted) > mostWanted {
		g.wanted = []string{"*"}
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

func (g *grains) take() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	ids := g.wanted
	g.wanted = nil
	return ids
}

func (g *grains) run(ctx context.Context) {
	for {
		select {
		case <-g.wake:
		case <-ctx.Done():
			return
		}
		order := data.NewMap("client", "local_async", "fun", "grains.items", "tgt", "*")
		if ids := g.take(); !slices.Contains(ids, "*") {
			order.Set("tgt", data.Values(ids))
			order.Set("tgt_type", "list")
		}
		if _, err := g.streams.Gate.Order(ctx, g.caller, order); err != nil && ctx.Err() == nil {
			g.streams.Log.Debugf("ask minions for their grains for the event stream of %s: %v", g.caller.From, err)
		}
	}
}
