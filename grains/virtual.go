package grains

import (
	"context"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// A guest is the grains virtual and virtual_subtype while they are being determined.
type guest struct{ kind, subtype string }

// virtual returns virtual and virtual_subtype. Helper programs come first; then files, which
// override them (salt/grains/core.py, _virtual). product is the grain productname. Guests of Nutanix
// AHV are recognized as in Salt 3007 and 3008.
func (c *collection) virtual(ctx context.Context, product string) *data.Map {
	if c.isZone() {
		return data.NewMap("virtual", "zone")
	}
	g := &guest{kind: "physical"}
	c.byProgram(ctx, g)
	c.host.byFiles(g, product)
	if g.kind == "physical" && g.subtype != "" {
		g.kind = "virtual"
	}
	c.host.byCloud(g)
	out := data.NewMap("virtual", g.kind)
	if g.subtype != "" {
		out.Set("virtual_subtype", g.subtype)
	}
	if strings.Contains(g.kind, "xen") {
		out.Update(c.host.hypervisor())
	}
	return out
}

// isZone reports whether this is a Linux zone of SmartOS.
func (c *collection) isZone() bool { return c.uname().Text("kernelversion") == "BrandZ virtual linux" }

// byProgram asks the first program with an answer: virt-what, else systemd-detect-virt and
// dmidecode; then lspci.
func (c *collection) byProgram(ctx context.Context, g *guest) {
	type probe struct {
		name string
		read func(out string, g *guest) (known bool)
	}
	probes := []probe{{"systemd-detect-virt", fromSystemd}, {"dmidecode", fromDMI}}
	if c.host.which("virt-what") != "" {
		probes = []probe{{"virt-what", fromVirtWhat}}
	}
	if c.o.Opts.Value("enable_lspci") != false && c.host.exists("/proc/bus/pci") {
		probes = append(probes, probe{"lspci", fromPCI})
	}
	for _, p := range probes {
		if out, ok := c.host.output(ctx, p.name); ok && p.read(out, g) {
			return
		}
	}
}

func fromSystemd(out string, g *guest) bool {
	switch {
	case slices.Contains([]string{"qemu", "kvm", "oracle", "xen", "bochs", "chroot", "uml",
		"systemd-nspawn"}, out):
		g.kind = out
	case strings.Contains(out, "vmware"):
		g.kind = "VMware"
	case strings.Contains(out, "microsoft"):
		g.kind = "VirtualPC"
	case strings.Contains(out, "lxc"):
		*g = guest{"container", "LXC"}
	case strings.Contains(out, "podman"):
		*g = guest{"container", "Podman"}
	case strings.Contains(out, "docker"):
		*g = guest{"container", "Docker"}
	case strings.Contains(out, "amazon"):
		*g = guest{"Nitro", "Amazon EC2"}
	default:
		return false
	}
	return true
}

func fromVirtWhat(out string, g *guest) bool {
	for _, line := range lines(out) {
		found := virtWhat(line)
		if found.kind != "" {
			*g = found
			break
		}
	}
	return true
}

func virtWhat(line string) guest {
	switch {
	case slices.Contains([]string{"kvm", "qemu", "uml", "xen"}, line):
		return guest{line, ""}
	case strings.Contains(line, "lxc"):
		return guest{"container", "LXC"}
	case strings.Contains(line, "docker"):
		return guest{"container", "Docker"}
	case strings.Contains(line, "vmware"):
		return guest{"VMware", ""}
	case strings.Contains(line, "parallels"):
		return guest{"Parallels", ""}
	case strings.Contains(line, "nutanix"):
		return guest{"kvm", "Nutanix AHV"}
	case strings.Contains(line, "hyperv"):
		return guest{"HyperV", ""}
	case line == "ibm_power-kvm":
		return guest{"kvm", ""}
	case line == "ibm_power-lpar_shared":
		return guest{"LPAR", "shared"}
	case line == "ibm_power-lpar_dedicated":
		return guest{"LPAR", "dedicated"}
	}
	return guest{}
}

func fromDMI(out string, g *guest) bool {
	has := func(s string) bool { return strings.Contains(out, s) }
	if has("Vendor: QEMU") || has("Manufacturer: QEMU") || has("Vendor: Bochs") ||
		has("Manufacturer: Bochs") {
		g.kind = "kvm"
	}
	switch {
	case has("BHYVE"):
		g.kind = "bhyve"
	case has("Manufacturer: oVirt"):
		*g = guest{"kvm", "ovirt"}
	case has("Product Name: RHEV Hypervisor"):
		*g = guest{"kvm", "rhev"}
	case has("VirtualBox"):
		g.kind = "VirtualBox"
	case has("VMware"):
		g.kind = "VMware"
	case has(": Microsoft") && has("Virtual Machine"):
		g.kind = "VirtualPC"
	case has("Parallels Software"):
		g.kind = "Parallels"
	case has("Manufacturer: Google"):
		g.kind = "kvm"
	case has("Manufacturer: Nutanix") && has("Product Name: AHV"):
		*g = guest{"kvm", "Nutanix AHV"}
	case has("Vendor: SeaBIOS"):
		g.kind = "kvm"
	}
	return true
}

func fromPCI(out string, g *guest) bool {
	model := strings.ToLower(out)
	switch {
	case strings.Contains(model, "vmware"):
		g.kind = "VMware"
	case strings.Contains(model, "virtualbox"):
		g.kind = "VirtualBox"
	case strings.Contains(model, "qemu"), strings.Contains(model, "virtio"):
		g.kind = "kvm"
	}
	return true
}

// byFiles looks for traces of a chroot, OpenVZ, Xen, hypervisors and containers, in that order.
func (h *host) byFiles(g *guest, product string) {
	own, err1 := os.Stat(h.at("/"))
	first, err2 := os.Stat(h.at("/proc/1/root") + "/.")
	if err1 == nil && err2 == nil && !os.SameFile(own, first) {
		g.subtype = "chroot"
	}
	h.openVZ(g)
	h.xen(g, product)
	if strings.Contains(h.text("/proc/cpuinfo"), "QEMU Virtual CPU") {
		g.kind = "kvm"
	}
	h.byProduct(g)
	h.container(g)
}

var envID = regexp.MustCompile(`(?m)^envID:\s+(\d+)$`)

func (h *host) openVZ(g *guest) {
	switch {
	case h.isFile("/proc/vz/version"):
		g.kind = "openvzhn"
	case h.isFile("/proc/vz/veinfo"):
		g.kind = "openvzve"
	}
	switch id := group(envID, h.text("/proc/self/status")); {
	case id == "":
	case strings.Trim(id, "0") == "":
		g.kind = "openvzhn"
	default:
		g.kind = "openvzve"
	}
}

func (h *host) xen(g *guest, product string) {
	if !h.isDir("/proc/sys/xen") && !h.isDir("/sys/bus/xen") && !h.isDir("/proc/xen") {
		return
	}
	capabilities, err := h.read("/proc/xen/capabilities")
	switch {
	case h.isFile("/proc/xen/xsd_kva"):
		g.subtype = "Xen Dom0"
	case product == "HVM domU":
		g.subtype = "Xen HVM DomU"
	case err == nil && strings.Contains(string(capabilities), "control_d"):
		g.subtype = "Xen Dom0"
	case err == nil, h.isDir("/sys/bus/xen/drivers/xenconsole"):
		g.subtype = "Xen PV DomU"
	}
	if strings.Contains(strings.ToLower(g.subtype), "dom") {
		g.kind = "xen"
	}
}

func (h *host) byProduct(g *guest) {
	name := h.text("/sys/devices/virtual/dmi/id/product_name")
	switch {
	case strings.Contains(name, "VirtualBox"):
		g.kind = "VirtualBox"
	case strings.Contains(name, "RHEV Hypervisor"):
		*g = guest{"kvm", "rhev"}
	case strings.Contains(name, "oVirt Node"):
		*g = guest{"kvm", "ovirt"}
	case strings.Contains(name, "Google"):
		g.kind = "gce"
	case strings.Contains(name, "BHYVE"):
		g.kind = "bhyve"
	}
}

func (h *host) container(g *guest) {
	groups := h.text("/proc/1/cgroup")
	has := func(s string) bool { return strings.Contains(groups, s) }
	switch {
	case has(":/lxc/"):
		*g = guest{"container", "LXC"}
	case has(":/kubepods/"):
		g.subtype = "kubernetes"
	case has(":/libpod_parent/"):
		g.subtype = "libpod"
	case has(":/system.slice/docker"), has(":/docker/"), has(":/docker-ce/"):
		*g = guest{"container", "Docker"}
	}
	if g.subtype != "LXC" && strings.Contains(h.text("/proc/1/environ"), "container=lxc") {
		*g = guest{"container", "LXC"}
	}
}

// byCloud determines the cloud from the firmware's fields, which are those that dmidecode -t system
// prints; as in Salt, only if dmidecode exists.
func (h *host) byCloud(g *guest) {
	if !slices.Contains([]string{"qemu", "kvm", "xen", "amazon"}, g.kind) ||
		h.which("dmidecode") == "" {
		return
	}
	const dir = "/sys/class/dmi/id"
	maker := strings.TrimSpace(h.text(path.Join(dir, "sys_vendor")))
	product := strings.TrimSpace(h.text(path.Join(dir, "product_name")))
	switch {
	case strings.HasPrefix(maker, "Amazon EC2"):
		if g.kind != "xen" {
			g.kind = "Nitro"
		}
		g.subtype = "Amazon EC2"
		if product != "" {
			g.subtype = "Amazon EC2 (" + product + ")"
		}
	case strings.Contains(h.text(path.Join(dir, "product_version")), ".amazon"):
		g.subtype = "Amazon EC2"
	case strings.HasPrefix(maker, "Nutanix") && strings.HasPrefix(product, "AHV"):
		g.subtype = "Nutanix AHV"
	}
}

// hypervisor returns the data that Xen reports about itself (_virtual_hv).
func (h *host) hypervisor() *data.Map {
	g := data.NewMap()
	const dir = "/sys/hypervisor"
	if h.isFile(dir+"/version/major") && h.isFile(dir+"/version/minor") &&
		h.isFile(dir+"/version/extra") {
		read := func(name string) string { return strings.TrimSpace(h.text(dir + "/version/" + name)) }
		major, minor, extra := read("major"), read("minor"), read("extra")
		g.Set("virtual_hv_version", major+"."+minor+extra)
		g.Set("virtual_hv_version_info", []any{major, minor, extra})
	}
	features := strings.TrimSpace(h.text(dir + "/properties/features"))
	bits, err := strconv.ParseUint(strings.TrimPrefix(features, "0x"), 16, 64)
	if err != nil {
		return g
	}
	g.Set("virtual_hv_features", features)
	g.Set("virtual_hv_features_list", xenFeatures(bits))
	return g
}

// xenFeatures names the bits of Xen's feature word (xen/interface/features.h).
func xenFeatures(bits uint64) []any {
	list := []any{}
	for i, name := range []string{
		"writable_page_tables", "writable_descriptor_tables", "auto_translated_physmap",
		"supervisor_mode_kernel", "pae_pgdir_above_4gb", "mmu_pt_update_preserve_ad", "",
		"gnttab_map_avail_bits", "hvm_callback_vector", "hvm_safe_pvclock", "hvm_pirqs", "dom0",
		"grant_map_identity", "memory_op_vnode_supported",
		"ARM_SMCCC_supported",
	} {
		if name != "" && bits&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return list
}
