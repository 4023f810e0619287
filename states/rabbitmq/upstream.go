package rabbitmq

import (
	"context"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Upstream returns the state rabbitmq_upstream. Its changes do not show passwords of URIs, whereas
// Salt's do.
func Upstream() loader.Plugin {
	return state("rabbitmq_upstream", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentUpstream),
			loader.F("present", m.presentUpstream).Secret("uri"),
		}
	})
}

type upstreamArgs struct {
	Name           string
	URI            any `name:"uri"`
	PrefetchCount  any `default:"None"`
	ReconnectDelay any `default:"None"`
	AckMode        any `default:"None"`
	TrustUserID    any `name:"trust_user_id" default:"None"`
	Exchange       any `default:"None"`
	MaxHops        any `default:"None"`
	Expires        any `default:"None"`
	MessageTTL     any `name:"message_ttl" default:"None"`
	HaPolicy       any `default:"None"`
	Queue          any `default:"None"`
	Runas          any `default:"None"`
}

// presentUpstream keeps an upstream of the federation with these options, and no others.
//
// uri
//
//	The URI of the upstream, or a list of URIs.
//
// The other arguments are those of rabbitmq.set_upstream.
//
//	my_upstream:
//	  rabbitmq_upstream.present:
//	    - uri: amqp://rabbit.example.com
//	    - ack_mode: on-confirm
func (m *module) presentUpstream(ctx context.Context, a upstreamArgs) (change.Result, error) {
	all := data.NewMap("uri", a.URI, "prefetch_count", a.PrefetchCount, "reconnect_delay", a.ReconnectDelay,
		"ack_mode", a.AckMode, "trust_user_id", a.TrustUserID, "exchange", a.Exchange, "max_hops", a.MaxHops,
		"expires", a.Expires, "message_ttl", a.MessageTTL, "ha_policy", a.HaPolicy, "queue", a.Queue)
	wanted := &data.Map{}
	for key, v := range all.All() {
		if data.Truth(v) {
			wanted.Set(dashed(key), v)
		}
	}
	title := "Upstream \"" + a.Name + "\" "
	verb := func(now *data.Map) string {
		if now == nil {
			return "create"
		}
		return "update"
	}
	return change.Thing[*data.Map]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (*data.Map, error) { return m.upstream(ctx, a.Name, a.Runas) },
		Wants: func(now *data.Map) *data.Map { return difference(now, wanted) },
		Apply: func(ctx context.Context, now *data.Map) error {
			more := all.Clone()
			more.Set("runas", a.Runas)
			_, err := loader.CallAs[any](ctx, m.env, "rabbitmq.set_upstream", []any{a.Name}, more)
			if loader.KindOf(err) == loader.KindExecution {
				return change.Reason("Error trying to " + verb(now) + " upstream: " + err.Error())
			}
			return change.Except(err)
		},
		Changed: func(before, after *data.Map) *data.Map { return difference(before, after) },
		Texts:   change.Texts{Same: title + "already present as specified."},
		Say: func(o change.Outcome[*data.Map]) any {
			switch o.Stage {
			case change.StageWould:
				return title + "would have been " + verb(o.Before) + "d."
			case change.StageDone:
				return title + verb(o.Before) + "d."
			}
			return nil
		},
		Silent: true,
	}.Ensure(ctx)
}

// dashed returns the name of an option in RabbitMQ.
func dashed(parameter any) string {
	name := []byte(data.Str(parameter))
	for i, c := range name {
		if c == '_' {
			name[i] = '-'
		}
	}
	return string(name)
}

// upstream returns the options of an upstream, nil if there is none.
func (m *module) upstream(ctx context.Context, name string, runas any) (*data.Map, error) {
	list, err := ask[*data.Map](ctx, m, "list_upstreams", runas)
	if err != nil || !list.Has(name) {
		return nil, err
	}
	v, err := pyjson.Load(list.Text(name))
	if err != nil {
		return nil, err
	}
	options, _ := v.(*data.Map)
	return options, nil
}

// difference returns the options in which an upstream differs, without passwords; now nil means
// that it does not exist.
func difference(now, wanted *data.Map) *data.Map {
	if now == nil {
		return data.NewMap("old", nil, "new", config.Masked("", wanted))
	}
	before, after := &data.Map{}, &data.Map{}
	for key, v := range now.All() {
		if !wanted.Has(key) || !data.Equal(wanted.Value(key), v) {
			before.Set(key, config.Masked("", v))
		}
	}
	for key, v := range wanted.All() {
		if !now.Has(key) || !data.Equal(now.Value(key), v) {
			after.Set(key, config.Masked("", v))
		}
	}
	changes := &data.Map{}
	if before.Len() > 0 {
		changes.Set("old", before)
	}
	if after.Len() > 0 {
		changes.Set("new", after)
	}
	return changes
}

// absentUpstream keeps an upstream of the federation deleted. runas is the user to run rabbitmqctl
// as.
//
//	my_upstream:
//	  rabbitmq_upstream.absent
func (m *module) absentUpstream(ctx context.Context, a absentArgs) (change.Result, error) {
	return change.Thing[bool]{
		Name:  a.Name,
		Look:  func(ctx context.Context) (bool, error) { return ask[bool](ctx, m, "upstream_exists", a.Runas, a.Name) },
		Wants: func(there bool) *data.Map { return change.When(there, change.OldNew(a.Name, nil)) },
		Apply: func(ctx context.Context, _ bool) error { return m.do(ctx, "delete_upstream", a.Runas, a.Name) },
		Texts: change.Texts{
			Same:  "The upstream \"" + a.Name + "\" is already absent.",
			Would: "Upstream \"" + a.Name + "\" would have been deleted.",
			Done:  "Upstream \"" + a.Name + "\" has been deleted.",
		},
		Silent: true,
	}.Ensure(ctx)
}
