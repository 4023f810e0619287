package grains

import (
	"context"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// disks returns disks and ssds (salt/grains/disks.py). The names are in the directory's order, like
// Salt's.
func (c *collection) disks(context.Context) *data.Map {
	if !onLinux() {
		return nil
	}
	disks, ssds := []any{}, []any{}
	for _, name := range c.host.unsorted("/sys/block") {
		entry := "/sys/block/" + name
		if target, err := os.Readlink(c.host.at(entry)); err == nil &&
			strings.HasPrefix(target, "../devices/virtual/") {
			continue
		}
		switch flag := c.host.text(entry + "/queue/rotational"); {
		case strings.HasPrefix(flag, "0"):
			ssds = append(ssds, name)
		case strings.HasPrefix(flag, "1"):
			disks = append(disks, name)
		}
	}
	return data.NewMap("disks", disks, "ssds", ssds)
}

// unsorted returns the names in a directory that are not hidden, in the system's order.
func (h *host) unsorted(dir string) []string {
	f, err := os.Open(h.at(dir))
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	return slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, ".") })
}

// mdadm returns the software RAIDs of /proc/mdstat.
func (c *collection) mdadm(context.Context) *data.Map {
	b, err := c.host.read("/proc/mdstat")
	if err != nil {
		return nil
	}
	devices := []string{}
	for _, line := range strings.Split(clean(b), "\n") {
		name, _, ok := strings.Cut(line, " : ")
		if ok && !strings.HasPrefix(line, "Personalities : ") &&
			!strings.HasPrefix(line, "unused devices:") {
			devices = append(devices, name)
		}
	}
	slices.Sort(devices)
	return data.NewMap("mdadm", data.Values(slices.Compact(devices)))
}

// lvm returns the logical volumes by volume group, if the program lvm exists.
func (c *collection) lvm(ctx context.Context) *data.Map {
	if !onLinux() || !c.option("enable_lvm_grains", true) || c.host.which("lvm") == "" {
		return nil
	}
	groups := data.NewMap()
	out, _ := c.host.output(ctx, "lvm", "vgs", "-o", "vg_name", "--noheadings")
	for _, group := range strings.Fields(out) {
		volumes, _ := c.host.output(ctx, "lvm", "lvs", "-o", "lv_name", "--noheadings", group)
		groups.Set(group, words(volumes))
	}
	return data.NewMap("lvm", groups)
}

// zfs returns zfs_support, zfs_feature_flags and the pools with their sizes in bytes
// (salt/grains/zfs.py). Salt runs man to look for a manual page; this looks for its file.
func (c *collection) zfs(ctx context.Context) *data.Map {
	if onWindows() {
		return nil
	}
	h := c.host
	supported := h.which("zpool") != "" &&
		(h.exists("/sys/module/zfs") || h.which("zfs-fuse") != "")
	g := data.NewMap("zfs_support", supported, "zfs_feature_flags", h.which("man") != "" &&
		h.zpoolPage())
	if !supported {
		return g
	}
	out, _ := h.output(ctx, "zpool", "list", "-H", "-o", "name,size")
	if pools := zpools(out); pools.Len() > 0 {
		g.Set("zpool", pools)
	}
	return g
}

func (h *host) zpoolPage() bool {
	for _, section := range []string{"5", "7"} {
		for _, ending := range []string{"", ".gz", ".xz", ".zst", ".bz2"} {
			if h.exists("/usr/share/man/man" + section + "/zpool-features." + section + ending) {
				return true
			}
		}
	}
	return false
}

// zpools parses lines of name and size.
func zpools(out string) *data.Map {
	pools := data.NewMap()
	for _, line := range strings.Split(out, "\n") {
		if field := strings.Fields(line); len(field) > 1 {
			pools.Set(field[0], zfsSize(field[1]))
		}
	}
	return pools
}

var sizeText = regexp.MustCompile(`^(\d+(?:\.\d+)?)([KkMmGgTtPpEe])[Bb]?$`)

// zfsSize returns a size like 1.98T in bytes; other text stays as it is (salt/utils/zfs.py,
// from_size).
func zfsSize(s string) any {
	m := sizeText.FindStringSubmatch(s)
	if m == nil {
		return number(s)
	}
	value, ok := new(big.Float).SetPrec(53).SetString(m[1])
	if !ok {
		return s
	}
	power := 10 * (1 + strings.Index("KMGTPE", strings.ToUpper(m[2])))
	n, _ := value.SetMantExp(value, power).Int(nil)
	if !n.IsInt64() {
		return n
	}
	return n.Int64()
}

// nvme returns nvme_nqn if nvme_grains is set.
func (c *collection) nvme(context.Context) *data.Map {
	if !c.option("nvme_grains", false) {
		return nil
	}
	names := []any{}
	for _, line := range strings.Split(c.host.text("/etc/nvme/hostnqn"), "\n") {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "nqn.") {
			names = append(names, line)
		}
	}
	return data.NewMap("nvme_nqn", ifLinux(names))
}

// iscsi returns iscsi_iqn if iscsi_grains is set.
func (c *collection) iscsi(context.Context) *data.Map {
	if !c.option("iscsi_grains", false) {
		return nil
	}
	names := []any{}
	for _, line := range strings.Split(c.host.text("/etc/iscsi/initiatorname.iscsi"), "\n") {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "InitiatorName="); ok {
			names = append(names, name)
		}
	}
	return data.NewMap("iscsi_iqn", ifLinux(names))
}

// fibreChannel returns fc_wwn if fibre_channel_grains is set.
func (c *collection) fibreChannel(context.Context) *data.Map {
	if !c.option("fibre_channel_grains", false) {
		return nil
	}
	names := []any{}
	for _, card := range c.host.unsorted("/sys/class/fc_host") {
		for _, line := range strings.Fields(c.host.text("/sys/class/fc_host/" + card +
			"/port_name")) {
			names = append(names, strings.TrimPrefix(line, "0x"))
		}
	}
	return data.NewMap("fc_wwn", ifLinux(names))
}

func ifLinux(list []any) any {
	if !onLinux() {
		return false
	}
	return list
}
