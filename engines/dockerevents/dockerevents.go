// Package dockerevents is Salt's engine docker_events: the events of a Docker Engine become events
// (salt/engines/docker_events.py).
//
//	engines:
//	  - docker_events:
//	      docker_url: unix://var/run/docker.sock
//	      filters:
//	        event: [start, stop, die, oom]
//
// The tag of an event is the option tag and the action, such as salt/engines/docker_events/die. Its
// data is that of the Docker Engine.
//
// Differences from Salt: it connects again after a pause, and asks for the events since the last one.
// An event that cannot be decoded or has no action is logged and skipped; Salt's engine ends.
package dockerevents

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/internal/clock"
	"github.com/brineproject/brine/internal/docker"
	"github.com/brineproject/brine/internal/loglimit"
	"github.com/brineproject/brine/internal/pyjson"
)

// Defaults of the options, which are Salt's.
const (
	defaultURL     = "unix://var/run/docker.sock"
	defaultTimeout = time.Minute
	defaultTag     = "salt/engines/docker_events"
)

// retry is the pause between two connections.
const retry = 5 * time.Second

type watcher struct {
	host    engines.Host
	docker  docker.Options
	tag     string
	filters string // as JSON; "" means none
	pause   time.Duration
	last    int64 // time of the last event in nanoseconds; 0 before the first one
	told    loglimit.Limiter
}

// New makes the engine. docker_url is the address of the Docker Engine, timeout the limit in seconds on
// each wait for it except that for events, tag begins the tags, and filters are those of its API.
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	w, err := newWatcher(h, options)
	if err != nil {
		return nil, err
	}
	return w.run, nil
}

func newWatcher(h engines.Host, options *data.Map) (*watcher, error) {
	if err := engines.Only(options, "docker_url", "timeout", "tag", "filters"); err != nil {
		return nil, err
	}
	w := &watcher{host: h, pause: retry}
	var errs [4]error
	w.docker.URL, errs[0] = engines.Text(options, "docker_url", defaultURL)
	if _, err := docker.ParseAddress(w.docker.URL, false); errs[0] == nil && err != nil {
		errs[0] = fmt.Errorf("docker_url: %w", err)
	}
	w.tag, errs[1] = engines.Text(options, "tag", defaultTag)
	w.docker.Timeout, errs[2] = seconds(options, "timeout", defaultTimeout)
	w.filters, errs[3] = filters(options.Value("filters"))
	return w, errors.Join(errs[:]...)
}

// seconds returns an option that is a positive number of seconds, at most a day.
func seconds(options *data.Map, name string, otherwise time.Duration) (time.Duration, error) {
	const most = 86400
	switch v := options.Value(name).(type) {
	case nil:
		return otherwise, nil
	case int64:
		if v > 0 && v <= most {
			return time.Duration(v) * time.Second, nil
		}
	case float64:
		if v > 0 && v <= most {
			return time.Duration(v * float64(time.Second)), nil
		}
	}
	return 0, fmt.Errorf("%s: expected seconds, from 1 to %d, not %s", name, most,
		data.Repr(options.Value(name)))
}

// filters returns filters in the form of the API: each is a list of texts (docker.utils.convert_filters).
func filters(v any) (string, error) {
	if !data.Truth(v) {
		return "", nil
	}
	m, ok := v.(*data.Map)
	if !ok {
		return "", fmt.Errorf("filters: expected a mapping, not %s", data.Repr(v))
	}
	sent := data.NewMap()
	for key, value := range m.All() {
		list := []any{}
		switch value := value.(type) {
		case bool:
			list = append(list, map[bool]string{true: "true", false: "false"}[value])
		case []any:
			for _, text := range data.Texts(value) {
				list = append(list, text)
			}
		default:
			list = append(list, data.Str(value))
		}
		sent.Set(data.Str(key), list)
	}
	text, err := pyjson.Append(nil, sent, pyjson.Options{Comma: ", ", Colon: ": ", ASCII: true})
	return string(text), err
}

// run fires events until ctx ends. It logs once a minute that there is no connection.
func (w *watcher) run(ctx context.Context) error {
	for {
		err := w.watch(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.told.First("connection") {
			w.host.Log.WithError(err).Errorf("engine %s: wait for events of the Docker Engine at %s",
				w.host.Name, w.docker.URL)
		}
		if err := clock.Sleep(ctx, w.pause); err != nil {
			return err
		}
	}
}

var errEnded = errors.New("the Docker Engine has ended the connection")

// watch fires the events of one connection. It always returns an error.
func (w *watcher) watch(ctx context.Context) error {
	client, err := docker.New(ctx, w.docker)
	if err != nil {
		return err
	}
	defer client.Close()
	answer, err := client.Do(ctx, docker.Request{Method: http.MethodGet, Path: "/events", Query: w.query(),
		Endless: true})
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it is only read
	for event, err := range docker.Watch(answer.Body) {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, docker.ErrMessage):
			w.told.Warnf(w.host.Log, "message", "engine %s: skipped a message: %v", w.host.Name, err)
		case errors.Is(err, bufio.ErrTooLong):
			w.last = 0 // asked for the events since then, the Docker Engine would send this one again
			return err
		case err != nil:
			return err
		default:
			w.fire(ctx, event)
		}
	}
	return errEnded
}

// query returns the filters, and from which time on events are wanted if there was a connection before.
func (w *watcher) query() url.Values {
	q := url.Values{}
	if w.filters != "" {
		q.Set("filters", w.filters)
	}
	if w.last > 0 {
		since := w.last + 1 // the time is included
		q.Set("since", fmt.Sprintf("%d.%09d", since/1e9, since%1e9))
	}
	return q
}

// fire fires an event of the Docker Engine.
func (w *watcher) fire(ctx context.Context, event *data.Map) {
	if at, ok := event.Value("timeNano").(int64); ok && at < math.MaxInt64 {
		w.last = max(w.last, at)
	}
	action := event.Value("Action")
	if !data.Truth(action) {
		action = event.Value("status")
	}
	if !data.Truth(action) {
		w.told.Warnf(w.host.Log, "action", "engine %s: skipped an event without action", w.host.Name)
		return
	}
	tag := w.tag + "/" + data.Str(action)
	if err := w.host.FireRaw(ctx, tag, event); err != nil && ctx.Err() == nil {
		w.told.Warnf(w.host.Log, "event", "engine %s: fire %.200q: %v", w.host.Name, tag, err)
	}
}
