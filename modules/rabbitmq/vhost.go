package rabbitmq

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
)

// listVhosts returns the names of the virtual hosts, in a list with the words of rabbitmqctl's
// header.
//
// CLI Example:
//
//	salt '*' rabbitmq.list_vhosts
func (m *module) listVhosts(ctx context.Context, a runasArgs) (any, error) {
	return m.vhosts(ctx, a.Runas)
}

func (m *module) vhosts(ctx context.Context, runas any) ([]any, error) {
	text, err := m.ask(ctx, runas, []string{"list_vhosts", "-q"})
	return words(text), err
}

// vhostExists returns whether a virtual host exists.
//
// CLI Example:
//
//	salt '*' rabbitmq.vhost_exists rabbit_host
func (m *module) vhostExists(ctx context.Context, a nameArgs) (any, error) {
	vhosts, err := m.vhosts(ctx, a.Runas)
	return slices.Contains(data.Texts(vhosts), a.Name), err
}

// addVhost adds a virtual host.
//
// CLI Example:
//
//	salt '*' rabbitmq.add_vhost '<vhost_name>'
func (m *module) addVhost(ctx context.Context, a vhostArgs) (any, error) {
	return m.change(ctx, "Added", a.Runas, []string{"add_vhost"}, a.Vhost)
}

// deleteVhost deletes a virtual host with all that it holds.
//
// CLI Example:
//
//	salt '*' rabbitmq.delete_vhost '<vhost_name>'
func (m *module) deleteVhost(ctx context.Context, a vhostArgs) (any, error) {
	return m.change(ctx, "Deleted", a.Runas, []string{"delete_vhost"}, a.Vhost)
}

type queuesArgs struct {
	Runas any   `default:"None"`
	Args  []any `args:"args"`
}

// listQueues returns the queues, each with a list of its columns. Further arguments name the
// columns.
//
// CLI Example:
//
//	salt '*' rabbitmq.list_queues messages consumers
func (m *module) listQueues(ctx context.Context, a queuesArgs) (any, error) {
	return m.queues(ctx, a.Runas, []string{"list_queues", "-q"}, data.Texts(a.Args))
}

type vhostQueuesArgs struct {
	Vhost string
	Runas any   `default:"None"`
	Args  []any `args:"args"`
}

// listQueuesVhost is rabbitmq.list_queues for one virtual host.
//
// CLI Example:
//
//	salt '*' rabbitmq.list_queues_vhost myvhost messages consumers
func (m *module) listQueuesVhost(ctx context.Context, a vhostQueuesArgs) (any, error) {
	return m.queues(ctx, a.Runas, []string{"list_queues", "-q", "-p"}, append([]string{a.Vhost}, data.Texts(a.Args)...))
}

func (m *module) queues(ctx context.Context, runas any, argv, operands []string) (any, error) {
	text, err := m.ask(ctx, runas, argv, operands...)
	if err != nil {
		return nil, err
	}
	return table(text, tabs), nil
}

// listUpstreams returns the upstreams of the federation, each with its definition as JSON.
//
// CLI Example:
//
//	salt '*' rabbitmq.list_upstreams
func (m *module) listUpstreams(ctx context.Context, a runasArgs) (any, error) {
	return m.upstreams(ctx, a.Runas)
}

func (m *module) upstreams(ctx context.Context, runas any) (*data.Map, error) {
	text, err := m.ask(ctx, runas, []string{"list_parameters", "-q"})
	if err != nil {
		return nil, err
	}
	found := &data.Map{}
	for _, row := range rows(text) {
		if columns := tabs(row); len(columns) == 3 {
			found.Set(columns[1], columns[2])
		}
	}
	return found, nil
}

// upstreamExists returns whether an upstream of the federation exists.
//
// CLI Example:
//
//	salt '*' rabbitmq.upstream_exists rabbit_upstream
func (m *module) upstreamExists(ctx context.Context, a nameArgs) (any, error) {
	upstreams, err := m.upstreams(ctx, a.Runas)
	return upstreams.Has(a.Name), err
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

// setUpstream defines an upstream of the federation by its URI, or a list of URIs, and options.
//
// CLI Example:
//
//	salt '*' rabbitmq.set_upstream upstream_name uri=amqp://localhost
func (m *module) setUpstream(ctx context.Context, a upstreamArgs) (any, error) {
	all := data.NewMap("uri", a.URI, "prefetch-count", a.PrefetchCount, "reconnect-delay", a.ReconnectDelay,
		"ack-mode", a.AckMode, "trust-user-id", a.TrustUserID, "exchange", a.Exchange, "max-hops", a.MaxHops,
		"expires", a.Expires, "message-ttl", a.MessageTTL, "ha-policy", a.HaPolicy, "queue", a.Queue)
	given := &data.Map{}
	for key, v := range all.All() {
		if data.Truth(v) {
			given.Set(key, v)
		}
	}
	definition, err := asJSON(given)
	if err != nil {
		return nil, err
	}
	_, err = m.ask(ctx, a.Runas, []string{"set_parameter", "federation-upstream"}, a.Name, definition)
	return err == nil, err
}

func asJSON(v any) (string, error) {
	text, err := pyjson.Append(nil, v, pyjson.Options{Comma: ", ", Colon: ": "})
	if err != nil {
		return "", loader.Execution("write %s as JSON: %w", data.Repr(v), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// deleteUpstream deletes an upstream of the federation.
//
// CLI Example:
//
//	salt '*' rabbitmq.delete_upstream upstream_name
func (m *module) deleteUpstream(ctx context.Context, a nameArgs) (any, error) {
	_, err := m.ask(ctx, a.Runas, []string{"clear_parameter", "federation-upstream"}, a.Name)
	return err == nil, err
}
