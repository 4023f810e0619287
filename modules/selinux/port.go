package selinux

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

type portArgs struct {
	Name     string
	SelType  any `default:"None"`
	Protocol any `default:"None"`
	Port     any `default:"None"`
}

// portOf returns a protocol and a port or a range of ports: those in the name, such as tcp/8080, or
// else those given.
func portOf(name string, protocol, port any) (string, string, error) {
	form := regexp.MustCompile(`^(tcp|udp)/([0-9]+-?[0-9]+)$`)
	for _, text := range []string{name, data.Str(protocol) + "/" + data.Str(port)} {
		if parts := form.FindStringSubmatch(text); parts != nil {
			return parts[1], parts[2], nil
		}
	}
	return "", "", loader.Invocation(`Invalid name "%s" format and protocol and port not provided or `+
		`invalid: "%s" "%s".`, name, data.Str(protocol), data.Str(port))
}

// portGetPolicy returns the entry of a port in the policy as a dictionary of sel_type, protocol and
// port, which has all ports of that entry. It returns None if there is no such entry.
//
// name
//
//	A protocol and a port or a range, such as tcp/80 or udp/20-21.
//
// protocol, port
//
//	They are needed if the name has another form.
//
// CLI Example:
//
//	salt '*' selinux.port_get_policy tcp/80
//	salt '*' selinux.port_get_policy foobar protocol=tcp port=80
func (m *module) portGetPolicy(ctx context.Context, a portArgs) (any, error) {
	protocol, port, err := portOf(a.Name, a.Protocol, a.Port)
	if err != nil {
		return nil, err
	}
	lines, err := m.lines(ctx, "semanage", "port", "-l")
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		words := strings.Fields(strings.ReplaceAll(line, ",", " "))
		if len(words) > 2 && words[1] == protocol && slices.Contains(words[2:], port) &&
			(!data.Truth(a.SelType) || words[0] == data.Str(a.SelType)) {
			ports := strings.TrimSpace(strings.TrimSpace(line)[len(words[0]):])[len(protocol):]
			return data.NewMap("sel_type", words[0], "protocol", protocol,
				"port", strings.TrimSpace(ports)), nil
		}
	}
	return nil, nil
}

type portAddArgs struct {
	Name     string
	SelType  any `default:"None"`
	Protocol any `default:"None"`
	Port     any `default:"None"`
	SelRange any `default:"None"`
}

// portAddPolicy adds an entry to the policy. It returns the result of the program semanage as
// cmd.run_all does.
//
// name, protocol, port
//
//	As in selinux.port_get_policy.
//
// sel_type
//
//	The type. It is needed.
//
// sel_range
//
//	The range of security levels.
//
// CLI Example:
//
//	salt '*' selinux.port_add_policy tcp/8080 http_port_t
//	salt '*' selinux.port_add_policy foobar http_port_t protocol=tcp port=8091
func (m *module) portAddPolicy(ctx context.Context, a portAddArgs) (any, error) {
	if !data.Truth(a.SelType) {
		return nil, loader.Invocation("SELinux Type is required to add a policy")
	}
	protocol, port, err := portOf(a.Name, a.Protocol, a.Port)
	if err != nil {
		return nil, err
	}
	argv := []string{"port", "--add", "--proto", protocol, "--type", data.Str(a.SelType)}
	if data.Truth(a.SelRange) {
		argv = append(argv, "--range", data.Str(a.SelRange))
	}
	if err := plain(data.Str(a.SelType), data.Str(a.SelRange)); err != nil {
		return nil, err
	}
	return m.semanage(ctx, append(argv, port)...)
}

type portDeleteArgs struct {
	Name     string
	Protocol any `default:"None"`
	Port     any `default:"None"`
}

// portDeletePolicy removes an entry from the policy. It returns the result of the program semanage
// as cmd.run_all does.
//
// name, protocol, port
//
//	As in selinux.port_get_policy.
//
// CLI Example:
//
//	salt '*' selinux.port_delete_policy tcp/8080
//	salt '*' selinux.port_delete_policy foobar protocol=tcp port=8091
func (m *module) portDeletePolicy(ctx context.Context, a portDeleteArgs) (any, error) {
	protocol, port, err := portOf(a.Name, a.Protocol, a.Port)
	if err != nil {
		return nil, err
	}
	return m.semanage(ctx, "port", "--delete", "--proto", protocol, port)
}
