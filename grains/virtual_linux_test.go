package grains

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
)

// TestVirtual compares with Salt 3006.0 on hosts with these files and programs, real and virtual:
// testdata/virtual.json.
func TestVirtual(t *testing.T) {
	// Salt 3006.18, 3007 or 3008 recognize these, 3006.0 does not.
	later := map[string]*data.Map{}
	for name, found := range map[string][2]string{
		"systemd-detect-virt says podman": {"container", "Podman"},
		"systemd-detect-virt says docker": {"container", "Docker"},
		"virt-what says docker":           {"container", "Docker"},
		"virt-what says nutanix_ahv":      {"kvm", "Nutanix AHV"},
		"virt-what says nutanix_ahv, kvm": {"kvm", "Nutanix AHV"}, "dmidecode of Nutanix": {"kvm",
			"Nutanix AHV"},
	} {
		later[name] = data.NewMap("virtual", found[0], "virtual_subtype", found[1])
	}
	for _, c := range vectors.Cases(t, readHost(t, "testdata/virtual.json").Value("cases").([]any)) {
		t.Run(c.Name, func(t *testing.T) {
			want := c.Object("grains")
			if l, ok := later[c.Map.Text("name")]; ok {
				want = l
			}
			got := virtualGrains(t, c.Map)
			if g, w := data.Repr(got), data.Repr(want); g != w {
				t.Errorf("grains = %s\nwant %s", g, w)
			}
		})
	}
}

func virtualGrains(t *testing.T, h *data.Map) *data.Map {
	t.Helper()
	c := New(fixture(t, h))
	c.uname = func() *data.Map {
		return data.NewMap("kernel", "Linux", "kernelversion", h.Text("uname"), "cpuarch", "x86_64")
	}
	run := &collection{Collector: c}
	got := data.NewMap()
	for name, v := range run.osData(t.Context()).All() {
		if strings.HasPrefix(name.(string), "virtual") {
			got.Set(name, v)
		}
	}
	update(got, run.mdata(t.Context()))
	return got
}
