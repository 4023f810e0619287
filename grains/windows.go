package grains

import (
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
)

// windowsNumber is the word of a name of Windows that stands for its version.
var (
	windowsNumber = regexp.MustCompile(`^(\d+(\.\d+)?|Thin|Vista|XP)$`)
	serverRelease = regexp.MustCompile(`^R\d+$`)
	yearless      = regexp.MustCompile(`^Microsoft\D+(Server|Datacenter|Standard|Essentials)$`)
)

// windowsRelease derives osrelease from the name of the system as Salt does: 10, 2019Server,
// 2012ServerR2 (salt/grains/core.py, _windows_os_release_grain).
func windowsRelease(product string) *data.Map {
	version, release := "Unknown", ""
	server := strings.Contains(product, "Server")
	for _, word := range strings.Fields(product) {
		switch {
		case windowsNumber.MatchString(word):
			version = word
		case server && serverRelease.MatchString(word):
			release = word
		}
	}
	if server && yearless.MatchString(product) {
		version, release = "2019", ""
	}
	parts := strings.Split(version, ".")
	if server {
		parts = []string{version, strings.TrimLeft(release, "R")}
		version += "Server" + release
	}
	var info data.Tuple
	for _, p := range parts {
		if p != "" {
			info = append(info, number(p))
		}
	}
	return data.NewMap("osrelease", version, "osrelease_info", info, "osfinger", "Windows-"+version)
}

// virtualWindows returns the kind of virtual machine by the texts of the firmware
// (salt/grains/core.py, _windows_virtual).
func virtualWindows(g *data.Map) *data.Map {
	for _, known := range []struct{ grain, text, virtual, subtype string }{
		{"manufacturer", "QEMU", "kvm", ""},
		{"biosstring", "VRTUAL", "HyperV", ""},
		{"biosstring", "A M I", "VirtualPC", ""},
		{"biosstring", "Xen", "Xen", ""},
		{"biosstring", "AMAZON", "EC2", ""},
		{"manufacturer", "Bochs", "kvm", ""},
		{"productname", "oVirt", "kvm", "oVirt"},
		{"productname", "RHEV Hypervisor", "kvm", "rhev"},
		{"productname", "VirtualBox", "VirtualBox", ""},
		{"productname", "VMware", "VMware", ""},
		{"productname", "Virtual Machine", "VirtualPC", ""},
		{"productname", "OpenStack", "OpenStack", ""},
		{"manufacturer", "Parallels", "Parallels", ""},
		{"productname", "CloudStack KVM Hypervisor", "kvm", "cloudstack"},
	} {
		if !strings.Contains(g.Text(known.grain), known.text) ||
			known.text == "Virtual Machine" && !strings.Contains(g.Text("manufacturer"), "Microsoft") {
			continue
		}
		found := data.NewMap("virtual", known.virtual)
		switch {
		case known.subtype != "":
			found.Set("virtual_subtype", known.subtype)
		case known.virtual == "Xen" && strings.Contains(g.Text("productname"), "HVM domU"):
			found.Set("virtual_subtype", "HVM domU")
		}
		return found
	}
	return data.NewMap("virtual", "physical")
}
