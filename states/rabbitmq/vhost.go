package rabbitmq

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Vhost returns the state rabbitmq_vhost.
func Vhost() loader.Plugin {
	return state("rabbitmq_vhost", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("absent", m.absentVhost),
			loader.F("present", m.presentVhost),
		}
	})
}

type vhostArgs struct{ Name string }

// presentVhost keeps a virtual host.
//
//	virtual_host:
//	  rabbitmq_vhost.present
func (m *module) presentVhost(ctx context.Context, a vhostArgs) (change.Result, error) {
	return m.vhost(ctx, a.Name, true, "add_vhost", "Added", change.OldNew("", a.Name), change.Texts{
		Same:  "Virtual Host '" + a.Name + "' already exists.",
		Would: "Virtual Host '" + a.Name + "' will be created.",
	})
}

// absentVhost keeps a virtual host deleted.
//
//	virtual_host:
//	  rabbitmq_vhost.absent
func (m *module) absentVhost(ctx context.Context, a vhostArgs) (change.Result, error) {
	return m.vhost(ctx, a.Name, false, "delete_vhost", "Deleted", change.OldNew(a.Name, ""), change.Texts{
		Same:  "Virtual Host '" + a.Name + "' is not present.",
		Would: "Virtual Host '" + a.Name + "' will be removed.",
	})
}

// vhost makes a virtual host exist or not. The comment is what rabbitmqctl prints, which fun
// returns under a key.
func (m *module) vhost(
	ctx context.Context, name string, wanted bool, fun, key string, changes *data.Map, texts change.Texts,
) (change.Result, error) {
	var output any
	return change.Thing[bool]{
		Name: name,
		Look: func(ctx context.Context) (bool, error) {
			return change.Ask[bool](ctx, m.env, "rabbitmq.vhost_exists", []any{name}, nil)
		},
		Wants: func(is bool) *data.Map { return change.When(is != wanted, changes) },
		Apply: func(ctx context.Context, _ bool) error {
			result, err := change.Ask[*data.Map](ctx, m.env, "rabbitmq."+fun, []any{name}, nil)
			output = result.Value(key)
			return err
		},
		Texts: texts,
		Say: func(o change.Outcome[bool]) any {
			if o.Stage == change.StageDone {
				return output
			}
			return nil
		},
	}.Ensure(ctx)
}
