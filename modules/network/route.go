package network

import (
	"context"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// A route is a row of a routing table, in the terms of netstat.
type route struct{ family, destination, gateway, netmask, flags, iface string }

func (r route) info() *data.Map {
	return data.NewMap("addr_family", r.family, "destination", r.destination, "gateway", r.gateway,
		"netmask", r.netmask, "flags", r.flags, "interface", r.iface)
}

type familyArgs struct {
	Family any `default:"None"`
}

// routes returns the routes of the host from netstat, or from the program ip if netstat is missing.
//
// family
//
//	inet or inet6: only routes of that family.
//
// CLI Example:
//
//	salt '*' network.routes
//	salt '*' network.routes family=inet
func (m *module) routes(ctx context.Context, a familyArgs) (any, error) {
	return m.routeList(ctx, a.Family, func(route) bool { return true })
}

// defaultRoute returns the default routes. The argument is that of network.routes.
//
// CLI Example:
//
//	salt '*' network.default_route
func (m *module) defaultRoute(ctx context.Context, a familyArgs) (any, error) {
	return m.routeList(ctx, a.Family, func(r route) bool {
		switch r.destination {
		case "default":
			return true
		case "0.0.0.0":
			return a.Family != "inet6"
		case "::/0":
			return a.Family != "inet"
		}
		return false
	})
}

// routeList returns the routes of a family, or of both families, that wanted accepts.
func (m *module) routeList(ctx context.Context, family any, wanted func(route) bool) (any, error) {
	if family != nil && family != "inet" && family != "inet6" {
		return nil, loader.Execution("Invalid address family %s", data.Str(family))
	}
	if err := m.onLinux(); err != nil {
		return nil, err
	}
	read := m.netstatRoutes
	if m.find("netstat") == "" {
		read = m.ipRoutes
	}
	all, err := read(ctx)
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, r := range all {
		if (family == nil || family == r.family) && wanted(r) {
			list = append(list, r.info())
		}
	}
	return list, nil
}

// lines runs a command and returns its output as a list of words for each line.
func (m *module) lines(ctx context.Context, command string, shell calls.Shell) ([][]string, error) {
	out, err := calls.RunOutput(ctx, m.env, calls.Run{Line: command, Shell: shell})
	if err != nil {
		return nil, err
	}
	var list [][]string
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) > 0 {
			list = append(list, words)
		}
	}
	return list, nil
}

// netstatRoutes parses the tables of netstat without their two header lines.
func (m *module) netstatRoutes(ctx context.Context) ([]route, error) {
	v4, err := m.lines(ctx, "netstat -A inet -rn | tail -n+3", calls.InShell)
	if err != nil {
		return nil, err
	}
	var list []route
	for _, w := range v4 {
		if len(w) >= 8 {
			list = append(list, route{"inet", w[0], w[1], w[2], w[3], w[7]})
		}
	}
	v6, err := m.lines(ctx, "netstat -A inet6 -rn | tail -n+3", calls.InShell)
	for _, w := range v6 {
		if len(w) == 6 || len(w) == 7 {
			list = append(list, route{"inet6", w[0], w[1], "", w[2], w[len(w)-1]})
		}
	}
	return list, err
}

// ipRoutes parses the tables of the program ip and returns them in the terms of netstat.
func (m *module) ipRoutes(ctx context.Context) ([]route, error) {
	v4, err := m.lines(ctx, "ip -4 route show table main", calls.InShell)
	if err != nil {
		return nil, err
	}
	var list []route
	for _, w := range v4 {
		if r, ok := ipRoute4(w); ok {
			list = append(list, r)
		}
	}
	v6, err := m.lines(ctx, "ip -6 route show table all", calls.InShell)
	for _, w := range v6 {
		if r, ok := ipRoute6(w); ok {
			list = append(list, r)
		}
	}
	return list, err
}

// after returns the word after dev if words[at] is dev, else "".
func after(words []string, at int) string {
	if len(words) > at+1 && words[at] == "dev" {
		return words[at+1]
	}
	return ""
}

func ipRoute4(w []string) (route, bool) {
	if len(w) < 3 {
		return route{}, false
	}
	if w[0] == "default" {
		return route{"inet", "0.0.0.0", w[2], "0.0.0.0", "UG", after(w, 3)}, true
	}
	n, err := network(w[0], false)
	if err != nil {
		return route{}, false // a type without destination, as in: blackhole 10.0.0.0/8
	}
	return route{"inet", n.Addr().String(), "0.0.0.0", maskOf(n).String(), "U", after(w, 1)}, true
}

func ipRoute6(w []string) (route, bool) {
	if len(w) < 3 {
		return route{}, false
	}
	switch w[0] {
	case "default":
		return route{"inet6", "::/0", w[2], "", "UG", after(w, 3)}, true
	case "local":
		return route{"inet6", w[1] + "/128", "::", "", "U", after(w, 2)}, true
	}
	if _, err := network(w[0], false); err != nil {
		return route{}, false
	}
	return route{"inet6", w[0], "::", "", "U", after(w, 1)}, true
}

type routeArgs struct {
	IP any `name:"ip"`
}

// getRoute returns the route of packets to an address: the interface, the gateway and the source
// address.
//
// CLI Example:
//
//	salt '*' network.get_route 10.10.10.10
func (m *module) getRoute(ctx context.Context, a routeArgs) (any, error) {
	if err := m.onLinux(); err != nil {
		return nil, err
	}
	out, err := calls.RunOutput(ctx, m.env,
		calls.Run{Argv: []string{"ip", "route", "get", data.Str(a.IP)}})
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(out, "\n")
	form := regexp.MustCompile(`(?:via\s+([\w.:]+))?\s+dev\s+([\w.:-]+)\s+.*src\s+([\w.:]+)`)
	found := form.FindStringSubmatch(line)
	if found == nil {
		return nil, loader.Execution("Unable to find the route to %s: %s", data.Str(a.IP), line)
	}
	return data.NewMap("destination", a.IP, "gateway", orNone(found[1]), "interface", found[2],
		"source", found[3]), nil
}
