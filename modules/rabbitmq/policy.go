package rabbitmq

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

type policiesArgs struct {
	Vhost string `default:"'/'"`
	Runas any    `default:"None"`
}

// listPolicies returns the policies of a virtual host below its name, each with its pattern,
// apply_to, definition and priority.
//
// CLI Example:
//
//	salt '*' rabbitmq.list_policies
func (m *module) listPolicies(ctx context.Context, a policiesArgs) (any, error) {
	return m.policies(ctx, a.Runas, a.Vhost)
}

func (m *module) policies(ctx context.Context, runas any, vhost string) (*data.Map, error) {
	text, err := m.ask(ctx, runas, []string{"list_policies", "-q", "-p"}, vhost)
	if err != nil {
		return nil, err
	}
	pkg := "rabbitmq-server"
	if m.env.GrainsNow().Text("os_family") == "FreeBSD" {
		pkg = "rabbitmq"
	}
	version, err := loader.CallAs[any](ctx, m.env, "pkg.version", []any{pkg}, nil)
	if err != nil {
		return nil, err
	}
	found := &data.Map{}
	for _, row := range rows(text) {
		parts := tabs(strings.TrimSpace(row))
		if len(parts) != 5 && len(parts) != 6 {
			continue
		}
		of, ok := found.Value(parts[0]).(*data.Map)
		if !ok {
			of = &data.Map{}
			found.Set(parts[0], of)
		}
		of.Set(parts[1], policy(parts[2:], patternFirst(data.Str(version))))
	}
	return found, nil
}

// patternFirst reports whether this version of RabbitMQ lists a policy's pattern before the kinds
// that it applies to, as from 3.7 on.
func patternFirst(version string) bool {
	numbers := regexp.MustCompile(`^(\d+)\.(\d+)`).FindStringSubmatch(version)
	if numbers == nil {
		return true
	}
	major, _ := strconv.Atoi(numbers[1]) //nolint:errcheck // digits
	minor, _ := strconv.Atoi(numbers[2]) //nolint:errcheck // digits
	return major > 3 || major == 3 && minor >= 7
}

// policy returns a policy of its columns after the name.
func policy(columns []string, patternFirst bool) *data.Map {
	switch {
	case len(columns) == 3:
		return data.NewMap("pattern", columns[0], "definition", columns[1], "priority", columns[2])
	case patternFirst:
		return data.NewMap("pattern", columns[0], "apply_to", columns[1], "definition", columns[2],
			"priority", columns[3])
	}
	return data.NewMap("apply_to", columns[0], "pattern", columns[1], "definition", columns[2],
		"priority", columns[3])
}

type policyArgs struct {
	Vhost      string
	Name       string
	Pattern    string
	Definition any
	Priority   any `default:"None"`
	Runas      any `default:"None"`
	ApplyTo    any `default:"None"`
}

// setPolicy defines a policy of a virtual host. definition is a dictionary or JSON.
//
// CLI Example:
//
//	salt '*' rabbitmq.set_policy / HA '.*' '{"ha-mode":"all"}'
func (m *module) setPolicy(ctx context.Context, a policyArgs) (any, error) {
	definition, ok := a.Definition.(string)
	if dictionary, is := a.Definition.(*data.Map); is {
		var err error
		if definition, err = asJSON(dictionary); err != nil {
			return nil, err
		}
	} else if !ok {
		return nil, loader.Invocation("The 'definition' argument must be a dictionary or JSON string")
	}
	definition = strings.TrimSpace(definition)
	argv := []string{"set_policy", "-p", a.Vhost}
	if data.Truth(a.Priority) {
		n, err := loader.Int(a.Priority)
		if err != nil {
			return nil, loader.Invocation("The 'priority' argument must be a number, not %s", data.Repr(a.Priority))
		}
		argv = append(argv, "--priority", strconv.FormatInt(n, 10))
	}
	if data.Truth(a.ApplyTo) {
		argv = append(argv, "--apply-to", data.Str(a.ApplyTo))
	}
	if err := process.PlainOperands(a.Vhost, data.Str(a.ApplyTo)); err != nil {
		return nil, loader.Execution("%w", err)
	}
	return m.change(ctx, "Set", a.Runas, argv, a.Name, a.Pattern, strings.ReplaceAll(definition, "\n", " "))
}

type namedArgs struct {
	Vhost string
	Name  string
	Runas any `default:"None"`
}

// deletePolicy deletes a policy of a virtual host.
//
// CLI Example:
//
//	salt '*' rabbitmq.delete_policy / HA
func (m *module) deletePolicy(ctx context.Context, a namedArgs) (any, error) {
	return m.change(ctx, "Deleted", a.Runas, []string{"clear_policy", "-p"}, a.Vhost, a.Name)
}

// policyExists returns whether a virtual host has a policy. Salt looks at the policies of / only.
//
// CLI Example:
//
//	salt '*' rabbitmq.policy_exists / HA
func (m *module) policyExists(ctx context.Context, a namedArgs) (any, error) {
	policies, err := m.policies(ctx, a.Runas, a.Vhost)
	of, _ := policies.Value(a.Vhost).(*data.Map)
	return of.Has(a.Name), err
}
