// Package testengine is Salt's engine test: it logs all events as JSON, at the level debug
// (salt/engines/test.py).
package testengine

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/output"
)

// New makes the engine, which has no options.
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options); err != nil {
		return nil, err
	}
	events := h.Bus.Subscribe(eventbus.SubscribeOptions{Name: "engine " + h.Name})
	return func(ctx context.Context) error {
		defer events.Close()
		for event := range events.All(ctx) {
			body, err := event.Map()
			if err != nil {
				continue
			}
			if text, err := output.JSON(body); err == nil {
				h.Log.Debug(text)
			}
		}
		return ctx.Err()
	}, nil
}
