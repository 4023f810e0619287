// Package httplogstash is Salt's engine http_logstash: it posts the data of events as JSON to a URL
// (salt/engines/http_logstash.py).
//
//	engines:
//	  - http_logstash:
//	      url: https://log.example.com/salt
//	      tags: ['salt/job/*/ret/*']
//	      funs: [probes.results]
//
// An event that cannot be delivered is logged and lost, as in Salt. Events that arrive meanwhile
// wait in the queue of the bus.
package httplogstash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/match"
)

const timeout = time.Minute

type sender struct {
	host   engines.Host
	url    string
	globs  []*match.Glob
	funs   []string
	client *http.Client
	events *eventbus.Subscription
}

// New makes the engine. The option url gets the events, tags are globs of their tags, funs the
// functions of those whose data has fun. Without tags or funs all events are sent.
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options, "url", "funs", "tags"); err != nil {
		return nil, err
	}
	address, err := engines.Text(options, "url", "")
	tags, tagsErr := engines.Texts(options, "tags")
	funs, funsErr := engines.Texts(options, "funs")
	if err := errors.Join(err, tagsErr, funsErr); err != nil {
		return nil, err
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("url: expected an address that begins with http:// or https://, not %s",
			data.Repr(address))
	}
	s := &sender{host: h, url: address, funs: funs, client: &http.Client{Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	for _, tag := range tags {
		s.globs = append(s.globs, match.CompileGlob(tag))
	}
	s.events = h.Bus.Subscribe(eventbus.SubscribeOptions{Name: "engine " + h.Name, Match: s.wants})
	return s.run, nil
}

func (s *sender) run(ctx context.Context) error {
	defer s.client.CloseIdleConnections()
	failed := false
	for event := range s.events.All(ctx) {
		body, err := event.Map()
		if err != nil {
			continue
		}
		if fun, ok := body.Get("fun"); ok && len(s.funs) > 0 && !slices.Contains(s.funs, data.Str(fun)) {
			continue
		}
		err = s.post(ctx, body)
		if err != nil && !failed && ctx.Err() == nil {
			s.host.Log.WithError(err).Errorf("engine %s: event %q was not delivered", s.host.Name, event.Tag)
		}
		failed = err != nil
	}
	s.events.Close()
	return ctx.Err()
}

func (s *sender) wants(tag string) bool {
	return len(s.globs) == 0 || slices.ContainsFunc(s.globs, func(g *match.Glob) bool { return g.Match(tag) })
}

func (s *sender) post(ctx context.Context, body *data.Map) error {
	text, err := pyjson.Append(nil, body, pyjson.Options{Comma: ", ", Colon: ": ", ASCII: true,
		Other: func(v any) (any, error) { return data.Repr(v), nil }})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	reply, err := s.client.Do(request)
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err // the address may hold a secret
	}
	if err != nil {
		return err
	}
	defer reply.Body.Close() //nolint:errcheck // it is only read
	if _, err := io.Copy(io.Discard, io.LimitReader(reply.Body, 1<<20)); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if reply.StatusCode >= 300 {
		return fmt.Errorf("the answer is %s", reply.Status)
	}
	return nil
}
