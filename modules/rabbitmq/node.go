package rabbitmq

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// status returns the text of rabbitmqctl status.
//
// CLI Example:
//
//	salt '*' rabbitmq.status
func (m *module) status(ctx context.Context, a runasArgs) (any, error) {
	return m.ask(ctx, a.Runas, []string{"status"})
}

// clusterStatus returns the text of rabbitmqctl cluster_status.
//
// CLI Example:
//
//	salt '*' rabbitmq.cluster_status
func (m *module) clusterStatus(ctx context.Context, a runasArgs) (any, error) {
	return m.ask(ctx, a.Runas, []string{"cluster_status"})
}

// stopApp stops RabbitMQ, but not its Erlang node, and returns the program's output.
//
// CLI Example:
//
//	salt '*' rabbitmq.stop_app
func (m *module) stopApp(ctx context.Context, a runasArgs) (any, error) {
	return m.ask(ctx, a.Runas, []string{"stop_app"})
}

// startApp starts RabbitMQ, and returns the program's output.
//
// CLI Example:
//
//	salt '*' rabbitmq.start_app
func (m *module) startApp(ctx context.Context, a runasArgs) (any, error) {
	return m.ask(ctx, a.Runas, []string{"start_app"})
}

// reset makes the node leave its cluster and lose all its data, and returns the program's output.
//
// CLI Example:
//
//	salt '*' rabbitmq.reset
func (m *module) reset(ctx context.Context, a runasArgs) (any, error) {
	return m.ask(ctx, a.Runas, []string{"reset"})
}

// forceReset is rabbitmq.reset for a node that cannot reach its cluster.
//
// CLI Example:
//
//	salt '*' rabbitmq.force_reset
func (m *module) forceReset(ctx context.Context, a runasArgs) (any, error) {
	return m.ask(ctx, a.Runas, []string{"force_reset"})
}

type joinArgs struct {
	Host    string
	User    string `default:"'rabbit'"`
	RAMNode any    `name:"ram_node" default:"None"`
	Runas   any    `default:"None"`
}

// joinCluster makes the node a member of the cluster of another node, USER@HOST. RabbitMQ is
// stopped meanwhile. With ram_node, the node keeps its data in memory only.
//
// CLI Example:
//
//	salt '*' rabbitmq.join_cluster rabbit.example.com rabbit
func (m *module) joinCluster(ctx context.Context, a joinArgs) (any, error) {
	argv, node := []string{"rabbitmqctl", "join_cluster"}, a.User+"@"+a.Host
	if err := process.PlainOperands(node); err != nil {
		return nil, loader.Execution("%w", err)
	}
	if data.Truth(a.RAMNode) {
		argv = append(argv, "--ram")
	}
	if _, err := m.stopApp(ctx, runasArgs{a.Runas}); err != nil {
		return nil, err
	}
	ran, failed := m.ctl(ctx, a.Runas, argv, node)
	if _, err := m.startApp(ctx, runasArgs{a.Runas}); err != nil {
		return nil, err
	}
	text, err := checked(ran, failed)
	if err != nil {
		return nil, err
	}
	return data.NewMap("Join", text), nil
}

// listAvailablePlugins returns the names of all plug-ins.
//
// CLI Example:
//
//	salt '*' rabbitmq.list_available_plugins
func (m *module) listAvailablePlugins(ctx context.Context, a runasArgs) (any, error) {
	return m.plugins(ctx, a.Runas, "list", "-m")
}

// listEnabledPlugins returns the names of the enabled plug-ins.
//
// CLI Example:
//
//	salt '*' rabbitmq.list_enabled_plugins
func (m *module) listEnabledPlugins(ctx context.Context, a runasArgs) (any, error) {
	return m.plugins(ctx, a.Runas, "list", "-m", "-e")
}

func (m *module) plugins(ctx context.Context, runas any, argv ...string) ([]any, error) {
	text, err := checked(m.ctl(ctx, runas, append([]string{"rabbitmq-plugins"}, argv...)))
	return words(text), err
}

// pluginIsEnabled returns whether a plug-in is enabled.
//
// CLI Example:
//
//	salt '*' rabbitmq.plugin_is_enabled rabbitmq_plugin_name
func (m *module) pluginIsEnabled(ctx context.Context, a nameArgs) (any, error) {
	enabled, err := m.plugins(ctx, a.Runas, "list", "-m", "-e")
	return slices.Contains(data.Texts(enabled), a.Name), err
}

// enablePlugin enables a plug-in.
//
// CLI Example:
//
//	salt '*' rabbitmq.enable_plugin foo
func (m *module) enablePlugin(ctx context.Context, a nameArgs) (any, error) {
	return m.plugin(ctx, "Enabled", "enable", a)
}

// disablePlugin disables a plug-in.
//
// CLI Example:
//
//	salt '*' rabbitmq.disable_plugin foo
func (m *module) disablePlugin(ctx context.Context, a nameArgs) (any, error) {
	return m.plugin(ctx, "Disabled", "disable", a)
}

func (m *module) plugin(ctx context.Context, key, command string, a nameArgs) (any, error) {
	text, err := checked(m.ctl(ctx, a.Runas, []string{"rabbitmq-plugins", command}, a.Name))
	if err != nil {
		return nil, err
	}
	return data.NewMap(key, text), nil
}
