package minion

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// linkedMasters implements loader.Masters with the links of a minion.
type linkedMasters struct{ m *Minion }

// errNoLink is returned if plug-ins request something from a master before there is a link.
var errNoLink = errors.New("this minion has no master")

func (l linkedMasters) Request(ctx context.Context, load *data.Map) (any, error) {
	if len(l.m.links) == 0 {
		return nil, errNoLink
	}
	return l.m.active()[0].call(ctx, load)
}

func (l linkedMasters) RequestRaw(ctx context.Context, load *data.Map) (data.Raw, error) {
	if len(l.m.links) == 0 {
		return nil, errNoLink
	}
	return l.m.active()[0].callRaw(ctx, load)
}

func (l linkedMasters) RequestAll(ctx context.Context, load *data.Map) error {
	return l.m.each(func(l *link) error { _, err := l.call(ctx, load); return err })
}

func (l linkedMasters) RequestTo(ctx context.Context, uri string, load *data.Map) (any, error) {
	for _, one := range l.m.links {
		if one.address.uri() == uri {
			return one.call(ctx, load)
		}
	}
	return nil, errUnknownMaster(uri)
}

// errUnknownMaster returns an error for an address that belongs to none of the configured masters.
func errUnknownMaster(uri string) error {
	return fmt.Errorf("%s is not one of this minion's masters", uri)
}

func (l linkedMasters) URIs() []string {
	active := l.m.active()
	all := make([]string, len(active))
	for i, one := range active {
		all[i] = one.address.uri()
	}
	return all
}

// callerMasters implements loader.Masters for a Caller. The Caller is signed in to one master; it
// signs in to others for a single request.
type callerMasters struct {
	linkedMasters
	c *Caller
}

func (r *callerMasters) URIs() []string {
	all := make([]string, len(r.c.addresses))
	for i, a := range r.c.addresses {
		all[i] = a.uri()
	}
	return all
}

func (r *callerMasters) RequestTo(ctx context.Context, uri string, load *data.Map) (any, error) {
	if r.c.link.address.uri() == uri {
		return r.Request(ctx, load)
	}
	for _, a := range r.c.addresses {
		if a.uri() == uri {
			return r.c.requestTo(ctx, a, load)
		}
	}
	return nil, errUnknownMaster(uri)
}

// ownBus implements loader.Bus with the minion's event bus.
type ownBus struct{ bus *eventbus.Bus }

func (b *ownBus) Fire(_ context.Context, tag string, body *data.Map) error {
	return b.bus.Fire(tag, body)
}

func (b *ownBus) Await(ctx context.Context, tag string, act func() error) (*data.Map, error) {
	events := b.bus.Subscribe(eventbus.SubscribeOptions{Name: "await " + tag,
		Prefixes: []string{tag}})
	defer events.Close()
	if err := act(); err != nil {
		return nil, err
	}
	event, err := events.Next(ctx)
	if err != nil {
		return nil, err
	}
	return event.Map()
}
