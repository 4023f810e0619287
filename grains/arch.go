package grains

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// osArch returns the grain osarch: the architecture as named by the system's packages
// (salt/grains/core.py, _osarch).
func (h *host) osArch(ctx context.Context, family, machine string) any {
	switch family {
	case "Debian":
		out, _ := h.output(ctx, "dpkg", "--print-architecture")
		return strings.TrimSpace(out)
	case "RedHat", "Suse":
		arch := machine
		if h.which("rpm") != "" {
			arch, _ = h.output(ctx, "rpm", "--eval", "%{_host_cpu}")
		}
		if arch == "powerpc64le" {
			return "ppc64le"
		}
		return first(strings.TrimSpace(arch), "unknown")
	case "NILinuxRT", "Poky":
		out, _ := h.output(ctx, "opkg", "print-architecture")
		return opkgArchs(out)
	}
	return machine
}

// opkgArchs parses lines of "arch NAME PRIORITY" and returns the names, the highest priority first.
func opkgArchs(out string) []any {
	type arch struct {
		name     string
		priority int64
	}
	var list []arch
	for _, line := range strings.Split(out, "\n") {
		field := strings.Fields(line)
		if len(field) != 3 || field[0] != "arch" {
			continue
		}
		if p, ok := number(field[2]).(int64); ok {
			list = append(list, arch{field[1], p})
		}
	}
	slices.SortStableFunc(list, func(a, b arch) int { return int(b.priority - a.priority) })
	names := []any{}
	for _, a := range list {
		names = append(names, a.name)
	}
	return names
}

// psCommand returns the grain ps.
func psCommand(family, virtual string) string {
	switch {
	case virtual == "openvzhn":
		return `ps -fH -p $(grep -l "^envID:[[:space:]]*0\$" ` +
			`/proc/[0-9]*/status | sed -e "s=/proc/\([0-9]*\)/.*=\1=")  ` +
			`| awk '{ $7=""; print }'`
	case family == "NILinuxRT":
		return "ps -o user,pid,ppid,tty,time,comm"
	}
	return "ps -efHww"
}

// update is Map.Update for a map that may be nil.
func update(m, from *data.Map) {
	if from != nil {
		m.Update(from)
	}
}
