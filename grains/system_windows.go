package grains

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/brineproject/brine/data"
)

// uname returns the corresponding data of Windows; both kernelrelease and kernelversion are the
// version.
func uname() *data.Map {
	name, _ := os.Hostname()
	v := windows.RtlGetVersion()
	version := fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	return data.NewMap("kernel", "Windows", "nodename", name,
		"kernelrelease", fmt.Sprint(v.MajorVersion), "kernelversion", version, "cpuarch",
		os.Getenv("PROCESSOR_ARCHITECTURE"))
}

// osData returns the basic grains of Windows.
func (c *collection) osData(context.Context) *data.Map {
	g := data.NewMap("num_gpus", int64(0), "gpus", []any{})
	g.Update(c.uname())
	g.Update(data.NewMap("os", "Windows", "os_family", "Windows", "mem_total", memoryTotal()))
	const current = `SOFTWARE\Microsoft\Windows NT\CurrentVersion`
	product := registryText(current, "ProductName")
	g.Set("osfullname", product)
	g.Set("osversion", g.Value("kernelversion"))
	g.Update(windowsRelease(product, windows.RtlGetVersion().BuildNumber))
	if n, ok := number(c.host.env("NUMBER_OF_PROCESSORS")).(int64); ok {
		g.Set("num_cpus", n)
	}
	g.Set("cpu_model", registryText(`HARDWARE\DESCRIPTION\System\CentralProcessor\0`,
		"ProcessorNameString"))
	const bios = `HARDWARE\DESCRIPTION\System\BIOS`
	for _, field := range [][2]string{{"manufacturer", "SystemManufacturer"},
		{"productname", "SystemProductName"}, {"biosversion", "BIOSVersion"}} {
		if text := registryText(bios, field[1]); text != "" {
			g.Set(field[0], text)
		}
	}
	g.Set("virtual", "physical")
	g.Set("ps", "tasklist.exe")
	g.Set("init", "Windows")
	return g
}

func registryText(path, name string) string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	text, _, err := key.GetStringValue(name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

// memoryTotal returns the memory in MiB.
func memoryTotal() int64 {
	var status struct {
		length, load uint32
		total        uint64
		rest         [6]uint64
	}
	status.length = uint32(unsafe.Sizeof(status))
	call := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if ok, _, _ := call.Call(uintptr(unsafe.Pointer(&status))); ok == 0 {
		return 0
	}
	return int64(status.total >> 20)
}

var windowsName = regexp.MustCompile(`Windows (Server )?(\d+|[A-Z][a-z]+)( R\d)?`)

// windowsRelease derives osrelease from the product's name as Salt does: 10, 2019Server,
// 2012ServerR2. Windows 11 has the product name of 10 and is recognized by its build.
func windowsRelease(product string, build uint32) *data.Map {
	g := data.NewMap()
	m := windowsName.FindStringSubmatch(product)
	if m == nil {
		return g
	}
	release := m[2] + strings.TrimSpace(m[1]) + strings.TrimSpace(m[3])
	if release == "10" && build >= 22000 {
		release = "11"
	}
	parts := []string{release}
	if year, rest, ok := strings.Cut(release, "Server"); ok {
		parts = []string{year, strings.TrimLeft(rest, "R")}
	}
	var info data.Tuple
	for _, p := range parts {
		info = append(info, number(p))
	}
	return data.NewMap("osrelease", release, "osrelease_info", info, "osfinger", "Windows-"+release)
}
