package rabbitmq

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// Extension returns the state rabbitmq_plugin.
func Extension() loader.Plugin {
	return state("rabbitmq_plugin", func(m *module) []loader.Func {
		return []loader.Func{
			loader.F("disabled", m.disabledPlugin),
			loader.F("enabled", m.enabledPlugin),
		}
	})
}

type pluginArgs struct {
	Name  string
	Runas any `default:"None"`
}

// enabledPlugin keeps a plug-in of RabbitMQ enabled. runas is the user to run rabbitmq-plugins as.
//
//	rabbitmq_management:
//	  rabbitmq_plugin.enabled
func (m *module) enabledPlugin(ctx context.Context, a pluginArgs) (change.Result, error) {
	return m.plugin(ctx, a, true, "enable", change.OldNew("", a.Name))
}

// disabledPlugin keeps a plug-in of RabbitMQ disabled.
//
//	rabbitmq_management:
//	  rabbitmq_plugin.disabled
func (m *module) disabledPlugin(ctx context.Context, a pluginArgs) (change.Result, error) {
	return m.plugin(ctx, a, false, "disable", change.OldNew(a.Name, ""))
}

func (m *module) plugin(
	ctx context.Context, a pluginArgs, wanted bool, verb string, changes *data.Map,
) (change.Result, error) {
	quoted := "Plugin '" + a.Name + "' "
	return change.Thing[bool]{
		Name: a.Name,
		Look: func(ctx context.Context) (bool, error) {
			return ask[bool](ctx, m, "plugin_is_enabled", a.Runas, a.Name)
		},
		Wants: func(is bool) *data.Map { return change.When(is != wanted, changes) },
		Apply: func(ctx context.Context, _ bool) error { return m.do(ctx, verb+"_plugin", a.Runas, a.Name) },
		Texts: change.Texts{
			Same:   quoted + "is already " + verb + "d.",
			Would:  quoted + "is set to be " + verb + "d.",
			Done:   quoted + "was " + verb + "d.",
			Failed: quoted + "could not be " + verb + "d.",
		},
	}.Ensure(ctx)
}
