package grains

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/data"
)

// cpus parses /proc/cpuinfo: num_cpus, cpu_model, cpu_flags (salt/grains/core.py, _linux_cpudata).
func cpus(text string) *data.Map {
	count, model := int64(0), ""
	flags := []any{}
	for _, line := range strings.Split(text, "\n") {
		part := strings.Split(line, ":")
		if len(part) < 2 {
			continue
		}
		switch key, value := strings.TrimSpace(part[0]), strings.TrimSpace(part[1]); key {
		case "processor":
			count++
		case "# processors": // s390
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				count = n
			}
		case "vendor_id", "model name", "cpu":
			model = value
		case "flags", "Features":
			flags = words(value)
		case "Processor": // old ARM kernels
			model, _, _ = strings.Cut(value, "-")
			count = 1
		}
	}
	return data.NewMap("num_cpus", count, "cpu_model", model, "cpu_flags", flags)
}

func words(s string) []any {
	list := []any{}
	for _, w := range strings.Fields(s) {
		list = append(list, w)
	}
	return list
}

// cpuData returns the grains of the processors; if the kernel names no model, it is Unknown.
func (h *host) cpuData() *data.Map {
	g := cpus(h.text("/proc/cpuinfo"))
	if g.Text("cpu_model") == "" {
		g.Set("cpu_model", "Unknown")
	}
	return g
}

// memory parses /proc/meminfo: mem_total and swap_total in MiB.
func memory(text string) *data.Map {
	g := data.NewMap("mem_total", int64(0), "swap_total", int64(0))
	for _, line := range strings.Split(text, "\n") {
		name, rest, _ := strings.Cut(line, ":")
		grain := map[string]string{"MemTotal": "mem_total",
			"SwapTotal": "swap_total"}[strings.TrimSpace(name)]
		value := strings.Fields(rest)
		if grain == "" || len(value) == 0 {
			continue
		}
		if kib, err := strconv.ParseInt(value[0], 10, 64); err == nil {
			g.Set(grain, kib/1024)
		}
	}
	return g
}

// gpus parses the output of lspci -vmm: num_gpus and gpus (_linux_gpu_data).
func gpus(text string) *data.Map {
	list := []any{}
	record := map[string]string{}
	for _, line := range append(strings.Split(text, "\n"), "") {
		if line = strings.TrimSuffix(line, "\r"); line != "" {
			if key, value, ok := strings.Cut(line, ":"); ok {
				record[strings.TrimSpace(key)] = strings.TrimSpace(value)
			}
			continue
		}
		class := strings.ToLower(record["Class"])
		if slices.Contains([]string{"vga compatible controller", "3d controller",
			"display controller"}, class) {
			list = append(list, data.NewMap("vendor", gpuVendor(record["Vendor"]),
				"model", record["Device"]))
		}
		record = map[string]string{}
	}
	return data.NewMap("num_gpus", int64(len(list)), "gpus", list)
}

var notWord = regexp.MustCompile(`[^A-Za-z0-9]`)

// gpuVendor returns the known vendor whose name is a word of the given name.
func gpuVendor(name string) string {
	parts := notWord.Split(strings.ToLower(name), -1)
	for _, known := range []string{"nvidia", "amd", "ati", "intel", "cirrus logic", "vmware",
		"matrox", "aspeed"} {
		if slices.Contains(parts, known) {
			return known
		}
	}
	return "unknown"
}

// gpuData returns num_gpus and gpus if lspci exists and is not disabled.
func (c *collection) gpuData(ctx context.Context) *data.Map {
	if !isOn(c.o.Opts, "enable_lspci") || !isOn(c.o.Opts, "enable_gpu_grains") ||
		c.host.which("lspci") == "" {
		return nil
	}
	out, _ := c.host.output(ctx, "lspci", "-vmm")
	return gpus(out)
}

// isOn reports whether an option is anything but False.
func isOn(opts *data.Map, name string) bool { return opts.Value(name) != false }

// board reads the firmware's tables: biosversion, biosvendor, boardname, productname, manufacturer,
// biosreleasedate, uuid, serialnumber, as far as the user may read them (_hw_data).
func (h *host) board(ctx context.Context) *data.Map {
	const dir = "/sys/class/dmi/id"
	switch {
	case h.exists(dir):
		return h.boardFromSysfs(dir)
	case h.which("dmidecode") != "":
		return h.boardFromProgram(ctx)
	case h.which("fw_printenv") != "":
		return h.boardFromUBoot(ctx)
	}
	return nil
}

func (h *host) boardFromSysfs(dir string) *data.Map {
	g := data.NewMap()
	for _, field := range [][2]string{
		{"biosversion", "bios_version"}, {"biosvendor", "bios_vendor"}, {"boardname", "board_name"},
		{"productname", "product_name"}, {"manufacturer", "sys_vendor"}, {"biosreleasedate",
			"bios_date"},
		{"uuid", "product_uuid"}, {"serialnumber", "product_serial"},
	} {
		b, err := h.read(path.Join(dir, field[1]))
		if err != nil {
			continue
		}
		value := clean([]byte(strings.Trim(string(b), " \t\n\r\v\f")))
		if field[0] == "uuid" {
			value = strings.ToLower(value)
		}
		g.Set(field[0], value)
	}
	return g
}

func (h *host) boardFromProgram(ctx context.Context) *data.Map {
	g := data.NewMap()
	for _, field := range [][2]string{
		{"biosversion", "bios-version"}, {"biosvendor", "bios-vendor"}, {"productname",
			"system-product-name"},
		{"manufacturer", "system-manufacturer"}, {"biosreleasedate", "bios-release-date"}, {"uuid",
			"system-uuid"},
		{"serialnumber", "system-serial-number"}, {"serialnumber", "chassis-serial-number"},
		{"serialnumber", "baseboard-serial-number"},
	} {
		if g.Has(field[0]) {
			continue
		}
		if value := h.dmidecode(ctx, field[1]); value != "" {
			g.Set(field[0], value)
		}
	}
	return g
}

// dmidecode returns one string of the firmware's tables, or "" if it is missing or a well-known
// filler.
func (h *host) dmidecode(ctx context.Context, name string) string {
	out, _ := h.output(ctx, "dmidecode", "-s", name)
	var kept []string
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if !strings.HasPrefix(line, "#") {
			kept = append(kept, line)
		}
	}
	value := strings.Join(kept, "\n")
	if strings.HasPrefix(value, "/dev/mem") || isFiller(name, value) {
		return ""
	}
	if name == "system-uuid" {
		return strings.ToLower(value)
	}
	return value
}

func (h *host) boardFromUBoot(ctx context.Context) *data.Map {
	g := data.NewMap()
	for _, field := range [][2]string{{"manufacturer", "manufacturer"}, {"serialnumber", "serial#"},
		{"productname", "DeviceDesc"}} {
		out, ok := h.output(ctx, "fw_printenv", field[1])
		if part := strings.Split(out, "="); ok && len(part) > 1 {
			var value any
			if !isFiller(field[0], part[1]) {
				value = part[1]
			}
			g.Set(field[0], value)
		}
	}
	return g
}

var (
	noneWord       = regexp.MustCompile(`(?i)^none`)
	uuidText       = regexp.MustCompile(`(?i)^(urn:uuid:)?\{?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\}?$`)
	serialKey      = regexp.MustCompile(`serial|part|version`)
	serialFiller   = regexp.MustCompile(`(?i)^0+$|^0?12345678?9?0?|sernum|part[_-]?number|specified|filled|applicable`)
	makerKey       = regexp.MustCompile(`asset|manufacturer`)
	makerFiller    = regexp.MustCompile(`(?i)manufacturer|to be filled|available|asset|^no(ne|t)`)
	generalFiller  = regexp.MustCompile(`(?i)to be filled|un(known|specified)|no(t|ne)? (asset|provided|defined|available|present|specified)`)
	serialSequence = regexp.MustCompile(`^0?1234567`)
)

// isFiller reports whether a field of the firmware has one of the placeholders that makers use for
// missing values (salt/modules/smbios.py, _dmi_isclean).
func isFiller(key, value string) bool {
	switch {
	case value == "" || noneWord.MatchString(value):
		return true
	case strings.Contains(key, "uuid"):
		return !uuidText.MatchString(value)
	case serialKey.MatchString(key):
		return serialFiller.MatchString(value) || serialSequence.MatchString(value)
	case makerKey.MatchString(key):
		return makerFiller.MatchString(value)
	}
	return generalFiller.MatchString(value)
}

// deviceTree returns manufacturer, productname and serialnumber of machines that have a device tree
// instead of firmware tables.
func (h *host) deviceTree() *data.Map {
	if !h.isDir("/proc/device-tree") {
		return nil
	}
	read := func(name string) string { return strings.TrimRight(h.text("/proc/device-tree/"+name), "\x00") }
	g := data.NewMap()
	if model := read("model"); model != "" {
		maker, product, ok := strings.Cut(model, ",")
		if ok {
			g.Set("manufacturer", maker)
			g.Set("productname", product)
		} else {
			g.Set("productname", model)
		}
	}
	if serial := first(read("serial-number"), read("system-id")); serial != "" {
		g.Set("serialnumber", serial)
	}
	return g
}
