//go:build darwin || freebsd

package grains

import (
	"context"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
)

// uname returns the kernel's uname data.
func uname() *data.Map {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return data.NewMap()
	}
	return data.NewMap("kernel", unix.ByteSliceToString(u.Sysname[:]),
		"nodename", unix.ByteSliceToString(u.Nodename[:]), "kernelrelease",
		unix.ByteSliceToString(u.Release[:]), "kernelversion", unix.ByteSliceToString(u.Version[:]),
		"cpuarch", unix.ByteSliceToString(u.Machine[:]))
}

// osData returns the basic grains of macOS and FreeBSD.
func (c *collection) osData(ctx context.Context) *data.Map {
	g := data.NewMap("num_gpus", int64(0), "gpus", []any{})
	g.Update(c.uname())
	mac := g.Text("kernel") == "Darwin"
	if mac {
		c.host.releaseOfMacOS(ctx, g)
	} else {
		c.host.releaseOfFreeBSD(ctx, g)
	}
	g.Update(sysctlGrains(mac))
	g.Set("osarch", g.Value("cpuarch"))
	g.Set("virtual", "physical")
	g.Set("ps", "ps auxwww")
	if version := g.Text("osrelease"); version != "" {
		update(g, releaseInfo(g.Text("os"), g.Text("osfullname"), version))
	}
	return g
}

// sysctlGrains returns the grains of processors and memory (salt/grains/core.py, _bsd_cpudata and
// _bsd_memdata).
func sysctlGrains(mac bool) *data.Map {
	model, flags, memory := "hw.model", "", "hw.physmem"
	if mac {
		model, flags, memory = "machdep.cpu.brand_string", "machdep.cpu.features", "hw.memsize"
	}
	g := data.NewMap("num_cpus", int64(0), "cpu_model", "Unknown", "cpu_flags", []any{},
		"mem_total", int64(0))
	if n, err := unix.SysctlUint32("hw.ncpu"); err == nil {
		g.Set("num_cpus", int64(n))
	}
	if s, err := unix.Sysctl(model); err == nil {
		g.Set("cpu_model", s)
	}
	if s, err := unix.Sysctl(flags); err == nil && flags != "" {
		g.Set("cpu_flags", words(s))
	}
	if n, err := unix.SysctlUint64(memory); err == nil {
		g.Set("mem_total", int64(n>>20))
	}
	if n, err := unix.SysctlUint64("vm.swap_total"); err == nil && !mac {
		g.Set("swap_total", int64(n>>20))
	}
	return g
}

func (h *host) releaseOfMacOS(ctx context.Context, g *data.Map) {
	version, _ := h.output(ctx, "sw_vers", "-productVersion")
	name, _ := h.output(ctx, "sw_vers", "-productName")
	build, _ := h.output(ctx, "sw_vers", "-buildVersion")
	g.Update(data.NewMap("os", "MacOS", "os_family", "MacOS", "osfullname", name+" "+version,
		"osrelease", version, "osbuild", build, "init", "launchd"))
}

func (h *host) releaseOfFreeBSD(ctx context.Context, g *data.Map) {
	version, ok := h.output(ctx, "freebsd-version", "-u")
	if !ok {
		version = g.Text("kernelrelease")
	}
	version, _, _ = strings.Cut(version, "-")
	g.Update(data.NewMap("os", "FreeBSD", "os_family", "FreeBSD", "osfullname", "FreeBSD",
		"osrelease", version))
}
