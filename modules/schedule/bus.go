package schedule

import (
	"context"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

const (
	requestTag  = "manage_schedule"
	answerTag   = "/salt/minion/minion_schedule_"
	answerLimit = 30 * time.Second
)

// fire fires an event on the minion's bus and reports whether that was possible.
func (m *module) fire(ctx context.Context, tag string, body *data.Map) bool {
	if err := m.tryFire(ctx, tag, body); err != nil {
		m.env.Log.WithError(err).Debugf("fire event %s", tag)
		return false
	}
	return true
}

// ask sends a request to the scheduler and returns its answer, nil when none came in time.
func (m *module) ask(ctx context.Context, answer string, pairs ...any) *data.Map {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	body, err := m.await(ctx, answerTag+answer, func() error { return m.tryFire(ctx, requestTag, data.NewMap(pairs...)) })
	if err != nil {
		m.env.Log.WithError(err).Debugf("ask the scheduler for %s", answer)
		return nil
	}
	return body
}

// askSchedule sends a request and returns the schedule in the answer; ok is false without an answer.
func (m *module) askSchedule(ctx context.Context, answer string, pairs ...any) (schedule *data.Map, ok bool) {
	body := m.ask(ctx, answer, pairs...)
	schedule, ok = body.Value("schedule").(*data.Map)
	return schedule, ok && data.Truth(body.Value("complete"))
}

func (m *module) tryFire(ctx context.Context, tag string, body *data.Map) error {
	if m.env.Host.Fire != nil {
		return m.env.Host.Fire(ctx, tag, body)
	}
	bus, err := m.dial(ctx, eventbus.ClientOptions{FireOnly: true})
	if err != nil {
		return err
	}
	defer bus.Close()
	return bus.Fire(ctx, tag, body)
}

// await calls act and waits for the event that answers it.
func (m *module) await(ctx context.Context, tag string, act func() error) (*data.Map, error) {
	if m.env.Host.Await != nil {
		return m.env.Host.Await(ctx, tag, act)
	}
	bus, err := m.dial(ctx, eventbus.ClientOptions{Subscribe: eventbus.SubscribeOptions{Prefixes: []string{tag}}})
	if err != nil {
		return nil, err
	}
	defer bus.Close()
	if err := act(); err != nil {
		return nil, err
	}
	for {
		event, err := bus.Next(ctx)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(event.Tag, tag) {
			return event.Map()
		}
	}
}

// dial connects to the bus of the minion of this host.
func (m *module) dial(ctx context.Context, o eventbus.ClientOptions) (*eventbus.Client, error) {
	opts := m.env.Opts
	sockets, err := eventbus.MinionSockets(opts.Text("sock_dir"), opts.Text("id"), opts.Text("hash_type"))
	if err != nil {
		return nil, err
	}
	return eventbus.Dial(ctx, sockets, o)
}
