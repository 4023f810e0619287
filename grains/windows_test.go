package grains

import (
	"testing"

	"github.com/brineproject/brine/data"
)

func TestWindowsRelease(t *testing.T) {
	for product, want := range map[string]string{
		"Microsoft Windows 10 Pro":                         "10 (10,) Windows-10",
		"Microsoft Windows 8.1 Pro":                        "8.1 (8, 1) Windows-8.1",
		"Microsoft Windows Server 2019 Datacenter":         "2019Server (2019,) Windows-2019Server",
		"Microsoft Windows Server 2012 R2 Standard":        "2012ServerR2 (2012, 2) Windows-2012ServerR2",
		"Microsoft Windows Vista Ultimate":                 "Vista ('Vista',) Windows-Vista",
		"Microsoft Hyper-V Server":                         "2019Server (2019,) Windows-2019Server",
		"Microsoft Windows Server 2008 R2 Enterprise 2000": "2000ServerR2 (2000, 2) Windows-2000ServerR2",
	} {
		g := windowsRelease(product)
		got := g.Text("osrelease") + " " + data.Repr(g.Value("osrelease_info")) + " " + g.Text("osfinger")
		if got != want {
			t.Errorf("%s: %s, want %s", product, got, want)
		}
	}
}

func TestVirtualWindows(t *testing.T) {
	for _, tt := range []struct{ manufacturer, product, bios, want string }{
		{"QEMU", "Standard PC", "", "{'virtual': 'kvm'}"},
		{"Microsoft Corporation", "Virtual Machine", "VRTUAL - 1", "{'virtual': 'HyperV'}"},
		{"Microsoft Corporation", "Virtual Machine", "", "{'virtual': 'VirtualPC'}"},
		{"Somebody", "Virtual Machine", "", "{'virtual': 'physical'}"},
		{"Xen", "HVM domU", "Xen - 0", "{'virtual': 'Xen', 'virtual_subtype': 'HVM domU'}"},
		{"", "", "", "{'virtual': 'physical'}"},
	} {
		g := virtualWindows(data.NewMap("manufacturer", tt.manufacturer, "productname", tt.product,
			"biosstring", tt.bios))
		if got := data.Repr(g); got != tt.want {
			t.Errorf("%q, %q, %q: %s, want %s", tt.manufacturer, tt.product, tt.bios, got, tt.want)
		}
	}
}
