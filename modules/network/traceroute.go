package network

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
)

// traceroute returns the hosts on the route to another host, with the response times in
// milliseconds.
//
// CLI Example:
//
//	salt '*' network.traceroute example.org
func (m *module) traceroute(ctx context.Context, a hostArgs) (any, error) {
	if err := m.needs("traceroute"); err != nil {
		return nil, err
	}
	out, err := m.output(ctx, "traceroute", hostName(a.Host))
	if err != nil {
		return nil, err
	}
	version, err := calls.RunOutput(ctx, m.env,
		calls.Run{Line: "traceroute --version", Shell: calls.CmdDecides})
	if err != nil {
		return nil, err
	}
	read := hopOf(version)
	hops := []any{}
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if strings.Contains(line, " ") && !strings.HasPrefix(line, "traceroute") {
			hops = append(hops, read(line))
		}
	}
	return hops, nil
}

// hopOf returns the parser for the lines of the given version of traceroute
// (salt/modules/network.py, traceroute).
func hopOf(version string) func(line string) *data.Map {
	found := regexp.MustCompile(`.*[Vv]ersion (\d+)\.([\w+]+)\.*(\w*)`).FindStringSubmatch(version)
	if found == nil {
		return hopOld
	}
	if strings.Contains(found[2], "Darwin") || strings.Contains(found[2], "FreeBSD") {
		return hopBSD
	}
	major, _ := strconv.Atoi(found[1])
	minor, _ := strconv.Atoi(found[2])
	patch, _ := strconv.Atoi(found[3])
	if major >= 2 && (patch >= 14 || minor > 0) {
		return hopNew
	}
	return hopOld
}

// hopNew parses " 1  gate (10.0.0.1)  0.1 ms  0.2 ms  0.3 ms".
func hopNew(line string) *data.Map {
	parts := strings.Split(line, "  ")
	count, err := strconv.ParseInt(strings.TrimSpace(parts[0]), 10, 64)
	if err != nil || len(parts) < 2 {
		return data.NewMap()
	}
	if parts[1] == "* * *" {
		return data.NewMap("count", count, "hostname", "*")
	}
	host := strings.Fields(parts[1])
	if len(parts) < 5 || len(host) < 2 {
		return data.NewMap()
	}
	hop := data.NewMap("count", count, "hostname", host[0], "ip", strings.Trim(host[1], "()"))
	for i, name := range []string{"ms1", "ms2", "ms3"} {
		text, _, _ := strings.Cut(parts[2+i], " ")
		delay, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return data.NewMap()
		}
		hop.Set(name, delay)
	}
	return hop
}

// hopOld parses the lines of old versions word by word.
func hopOld(line string) *data.Map {
	w := strings.Fields(line)
	if len(w) < 9 {
		return data.NewMap()
	}
	return data.NewMap("count", w[0], "hostname", w[1], "ip", w[2], "ms1", w[4], "ms2", w[6],
		"ms3", w[8], "ping1", w[3], "ping2", w[5], "ping3", w[7])
}

// hopBSD parses the lines of BSD and macOS.
func hopBSD(line string) *data.Map {
	found := regexp.MustCompile(`\s*(\d*)\s+(.*)\s+\((.*)\)\s+(.*)$`).FindStringSubmatch(line)
	if found == nil {
		if found = regexp.MustCompile(`\s*(\d*)\s+\*\s+\*\s+\*`).FindStringSubmatch(line); found == nil {
			return data.NewMap()
		}
		return data.NewMap("count", found[1], "hostname", "*")
	}
	hop := data.NewMap("count", found[1], "hostname", found[2], "ip", found[3])
	for i, delay := range regexp.MustCompile(`(\d+\.\d+)\s*ms`).FindAllStringSubmatch(found[4],
		-1) {
		hop.Set("ms"+strconv.Itoa(i+1), delay[1])
	}
	return hop
}
