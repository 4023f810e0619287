// Package rabbitmq has Salt's states rabbitmq_user, rabbitmq_vhost, rabbitmq_plugin,
// rabbitmq_policy, rabbitmq_cluster and rabbitmq_upstream (salt/states/rabbitmq_*.py). They use the
// module rabbitmq.
//
// Differences from Salt: the changes of a user name all virtual hosts with new rights, and a user
// without tags needs no change to have none. After a change, each state looks again.
package rabbitmq

import (
	"context"
	"errors"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type module struct{ env *loader.Env }

// state returns a state that is available on hosts with the module rabbitmq.
func state(name string, funcs func(*module) []loader.Func) loader.Plugin {
	return loader.Plugin{Name: name, New: func(env *loader.Env) (*loader.Module, error) {
		if !env.Functions.Has("rabbitmq.list_users") {
			return nil, errors.New("Command not found: rabbitmqctl") //nolint:staticcheck // Salt's text
		}
		return &loader.Module{Funcs: funcs(&module{env})}, nil
	}}
}

// ask calls a function. Failures of RabbitMQ fail the state with their text after "Error: ".
func ask[R any](ctx context.Context, m *module, fun string, runas any, args ...any) (R, error) {
	v, err := loader.CallAs[R](ctx, m.env, "rabbitmq."+fun, args, data.NewMap("runas", runas))
	if loader.KindOf(err) == loader.KindExecution {
		return v, change.Reason("Error: " + err.Error())
	}
	return v, change.Except(err)
}

func (m *module) do(ctx context.Context, fun string, runas any, args ...any) error {
	_, err := ask[any](ctx, m, fun, runas, args...)
	return err
}
