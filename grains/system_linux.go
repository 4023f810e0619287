package grains

import (
	"context"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/data"
)

// osData returns the grains of core.py's os_data, in its order. Programs run concurrently.
func (c *collection) osData(ctx context.Context) *data.Map {
	h := c.host
	distribution := h.distribution()
	board := h.deviceTree()
	if board == nil {
		board = data.NewMap()
	}
	firmware := h.board(ctx)
	product := board.Text("productname")
	if firmware.Has("productname") {
		product = firmware.Text("productname")
	}
	kernel := c.uname()

	var systemd, gpu, virtual *data.Map
	var arch any
	var wg sync.WaitGroup
	wg.Go(func() { systemd = h.systemd(ctx) })
	wg.Go(func() { gpu = c.gpuData(ctx) })
	wg.Go(func() { virtual = c.virtual(ctx, product) })
	wg.Go(func() { arch = h.osArch(ctx, distribution.Text("os_family"), kernel.Text("cpuarch")) })
	g := data.NewMap("num_gpus", int64(0), "gpus", []any{})
	g.Update(kernel)
	selinux, init, cpu, mem := h.selinux(), h.initSystem(), h.cpuData(),
		memory(h.text("/proc/meminfo"))
	wg.Wait()

	if selinux != nil {
		g.Set("selinux", selinux)
	}
	if systemd != nil {
		g.Set("systemd", systemd)
	}
	g.Set("init", init)
	for _, m := range []*data.Map{distribution, cpu, gpu, board} {
		update(g, m)
	}
	g.Set("osarch", arch)
	for _, m := range []*data.Map{mem, firmware, virtual} {
		update(g, m)
	}
	g.Set("ps", psCommand(g.Text("os_family"), g.Text("virtual")))
	if release := g.Text("osrelease"); release != "" {
		update(g, releaseInfo(g.Text("os"), g.Text("osfullname"), release))
	}
	return g
}

// uname returns the kernel's uname data.
func uname() *data.Map {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return data.NewMap("kernel", "Linux")
	}
	return data.NewMap("kernel", unix.ByteSliceToString(u.Sysname[:]),
		"nodename", unix.ByteSliceToString(u.Nodename[:]), "kernelrelease",
		unix.ByteSliceToString(u.Release[:]), "kernelversion", unix.ByteSliceToString(u.Version[:]),
		"cpuarch", unix.ByteSliceToString(u.Machine[:]))
}
