package grains

import (
	"context"
	"fmt"
	"os"
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
	product := caption(registryText(current, "ProductName"), windows.RtlGetVersion().BuildNumber)
	g.Set("kernelrelease", g.Value("kernelversion"))
	g.Set("osfullname", product)
	g.Set("osmanufacturer", "Microsoft Corporation")
	g.Set("osversion", g.Value("kernelversion"))
	g.Set("osservicepack", servicePack())
	g.Update(windowsRelease(product))
	g.Set("osarch", g.Value("cpuarch"))
	if n, ok := number(c.host.env("NUMBER_OF_PROCESSORS")).(int64); ok {
		g.Set("num_cpus", n)
	}
	g.Set("cpu_model", registryText(`HARDWARE\DESCRIPTION\System\CentralProcessor\0`,
		"ProcessorNameString"))
	g.Set("timezone", timeZone())
	g.Update(firmwareGrains(smbios(firmwareTables())))
	g.Update(virtualWindows(g))
	g.Update(joined())
	g.Set("ps", "tasklist.exe")
	g.Set("init", "Windows")
	return g
}

// caption returns the name of the system as WMI has it: with Microsoft before the name in the
// registry, which on Windows 11 is still that of Windows 10.
func caption(product string, build uint32) string {
	if build >= 22000 {
		product = strings.Replace(product, "Windows 10", "Windows 11", 1)
	}
	if product == "" || strings.HasPrefix(product, "Microsoft ") {
		return product
	}
	return "Microsoft " + product
}

// servicePack returns the name of the service pack, such as SP1, or nil if there is none.
func servicePack() any {
	if n := windows.RtlGetVersion().ServicePackMajor; n > 0 {
		return fmt.Sprintf("SP%d", n)
	}
	return nil
}

// timeZone returns the description of the time zone, nil if it is unknown.
func timeZone() any {
	key := registryText(`SYSTEM\CurrentControlSet\Control\TimeZoneInformation`, "TimeZoneKeyName")
	if key == "" {
		return nil
	}
	return orNil(registryText(`SOFTWARE\Microsoft\Windows NT\CurrentVersion\Time Zones\`+key, "Display"))
}

// firmwareTables returns the tables of the firmware, nil if the system does not show them.
func firmwareTables() []byte {
	call := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetSystemFirmwareTable")
	if call.Find() != nil {
		return nil
	}
	const provider = 0x52534d42 // RSMB
	const most = 1 << 20
	size, _, _ := call.Call(provider, 0, 0, 0)
	const header = 8
	if size <= header || size > most {
		return nil
	}
	buf := make([]byte, size)
	n, _, _ := call.Call(provider, 0, uintptr(unsafe.Pointer(&buf[0])), size)
	if n <= header || n > size {
		return nil
	}
	return buf[header:n]
}

// firmwareGrains returns the grains from the tables of the firmware, or where these are not shown
// from their copy in the registry.
func firmwareGrains(tables map[byte]smbiosTable) *data.Map {
	const bios = `HARDWARE\DESCRIPTION\System\BIOS`
	copied := func(text, name string) any {
		if text == "" {
			text = registryText(bios, name)
		}
		return orNil(text)
	}
	return data.NewMap(
		"manufacturer", copied(tables[1].text(4), "SystemManufacturer"),
		"productname", copied(tables[1].text(5), "SystemProductName"),
		"biosversion", copied(tables[0].text(5), "BIOSVersion"),
		"biosstring", orNil(registryText(`HARDWARE\DESCRIPTION\System`, "SystemBiosVersion")),
		"serialnumber", orNil(tables[1].text(7)), "uuid", orNil(tables[1].uuid()),
		"motherboard", data.NewMap("productname", copied(tables[2].text(5), "BaseBoardProduct"),
			"serialnumber", orNil(tables[2].text(7))))
}

// joined returns the domain or workgroup of the host (salt/utils/win_osinfo.py, get_join_info).
func joined() *data.Map {
	var name *uint16
	var kind uint32
	if err := windows.NetGetJoinInformation(nil, &name, &kind); err != nil {
		return data.NewMap("windowsdomain", nil, "windowsdomaintype", "Unknown")
	}
	defer windows.NetApiBufferFree((*byte)(unsafe.Pointer(name))) //nolint:errcheck // nothing helps
	kinds := []string{"Unknown", "Unjoined", "Workgroup", "Domain"}
	text := kinds[0]
	if int(kind) < len(kinds) {
		text = kinds[kind]
	}
	return data.NewMap("windowsdomain", orNil(windows.UTF16PtrToString(name)),
		"windowsdomaintype", text)
}

func registryText(path, name string) string {
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, path, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	text, _, err := key.GetStringValue(name)
	if list, _, wrong := key.GetStringsValue(name); err != nil && wrong == nil && len(list) > 0 {
		text, err = list[0], nil
	}
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
