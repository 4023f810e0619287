// Package rabbitmq is Salt's module rabbitmq: the users, virtual hosts, policies, plug-ins and
// cluster of RabbitMQ, by its program rabbitmqctl (salt/modules/rabbitmq.py).
//
// rabbitmq.go runs the programs and reads their lists, user.go, vhost.go, policy.go and node.go
// have the functions.
//
// Differences from Salt: passwords reach rabbitmqctl on its standard input and not as arguments,
// which needs RabbitMQ 3.8 or newer; policy_exists looks at the policies of the given virtual host, and
// not at those of /; and an unreadable list is an error. The URI of an upstream with its password is an argument, as
// rabbitmqctl reads it from nowhere else.
package rabbitmq

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/process"
)

// Plugin returns the module rabbitmq. It is available on hosts with the program rabbitmqctl.
func Plugin() loader.Plugin { return loader.Plugin{Name: "rabbitmq", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	if process.Find("rabbitmqctl") == "" {
		return nil, errors.New("Module rabbitmq: module only works when RabbitMQ is installed") //nolint:staticcheck // Salt's text
	}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("add_user", m.addUser).Secret("password"),
		loader.F("add_vhost", m.addVhost),
		loader.F("change_password", m.changePassword).Secret("password"),
		loader.F("check_password", m.checkPassword).Secret("password"),
		loader.F("clear_password", m.clearPassword),
		loader.F("cluster_status", m.clusterStatus),
		loader.F("delete_policy", m.deletePolicy),
		loader.F("delete_upstream", m.deleteUpstream),
		loader.F("delete_user", m.deleteUser),
		loader.F("delete_vhost", m.deleteVhost),
		loader.F("disable_plugin", m.disablePlugin),
		loader.F("enable_plugin", m.enablePlugin),
		loader.F("force_reset", m.forceReset),
		loader.F("join_cluster", m.joinCluster),
		loader.F("list_available_plugins", m.listAvailablePlugins),
		loader.F("list_enabled_plugins", m.listEnabledPlugins),
		loader.F("list_permissions", m.listPermissions),
		loader.F("list_policies", m.listPolicies),
		loader.F("list_queues", m.listQueues),
		loader.F("list_queues_vhost", m.listQueuesVhost),
		loader.F("list_upstreams", m.listUpstreams),
		loader.F("list_user_permissions", m.listUserPermissions),
		loader.F("list_users", m.listUsers),
		loader.F("list_vhosts", m.listVhosts),
		loader.F("plugin_is_enabled", m.pluginIsEnabled),
		loader.F("policy_exists", m.policyExists),
		loader.F("reset", m.reset),
		loader.F("set_permissions", m.setPermissions),
		loader.F("set_policy", m.setPolicy),
		loader.F("set_upstream", m.setUpstream).Secret("uri"),
		loader.F("set_user_tags", m.setUserTags),
		loader.F("start_app", m.startApp),
		loader.F("status", m.status),
		loader.F("stop_app", m.stopApp),
		loader.F("upstream_exists", m.upstreamExists),
		loader.F("user_exists", m.userExists),
		loader.F("vhost_exists", m.vhostExists),
	}}, nil
}

// ctl runs a program of RabbitMQ as a user. operands are its last arguments, none of them an
// option.
func (m *module) ctl(
	ctx context.Context, runas any, argv []string, operands ...string,
) (calls.Ran, error) {
	if err := process.PlainOperands(operands...); err != nil {
		return calls.Ran{}, loader.Execution("%w", err)
	}
	return calls.RunAll(ctx, m.env,
		calls.Run{Argv: append(argv, operands...), As: calls.Text(runas)})
}

// ask runs a command of rabbitmqctl and returns its output. Its failure is an error.
func (m *module) ask(ctx context.Context, runas any, argv []string, operands ...string) (string, error) {
	return checked(m.ctl(ctx, runas, append([]string{"rabbitmqctl"}, argv...), operands...))
}

// checked returns the output of a program that succeeded without error output.
func checked(ran calls.Ran, err error) (string, error) {
	if err == nil && (ran.Retcode != 0 || ran.Stderr != "") {
		err = loader.Execution("RabbitMQ command failed: %s", ran.Stderr)
	}
	return ran.Stdout, err
}

// change runs a command of rabbitmqctl, and returns its output under a key.
func (m *module) change(ctx context.Context, key string, runas any, argv []string, operands ...string) (any, error) {
	text, err := m.ask(ctx, runas, argv, operands...)
	if err != nil {
		return nil, err
	}
	return data.NewMap(key, text), nil
}

// rows returns the lines of a list without the program's remarks on it.
func rows(text string) []string {
	var found []string
	for line := range strings.SplitSeq(text, "\n") {
		listing := strings.HasPrefix(line, "Listing")
		if line == "" || strings.HasPrefix(line, "WARNING:") || strings.Contains(line, "...done") ||
			listing && (strings.HasSuffix(line, "...") || !strings.Contains(line, "\t")) {
			continue
		}
		found = append(found, line)
	}
	return found
}

// words returns the words of a list.
func words(text string) []any {
	found := []any{}
	for _, row := range rows(text) {
		found = append(found, data.Values(strings.Fields(row))...)
	}
	return found
}

// table returns the rows of a list by their first column. convert returns the value of the others.
func table(text string, convert func(string) []string) *data.Map {
	found := &data.Map{}
	for _, row := range rows(text) {
		if key, rest, ok := strings.Cut(row, "\t"); ok {
			found.Set(key, data.Values(convert(rest)))
		} else {
			found.Set(key, "")
		}
	}
	return found
}

func tabs(text string) []string { return strings.Split(text, "\t") }

type runasArgs struct {
	Runas any `default:"None"`
}

type nameArgs struct {
	Name  string
	Runas any `default:"None"`
}

type vhostArgs struct {
	Vhost string
	Runas any `default:"None"`
}
