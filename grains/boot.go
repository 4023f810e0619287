package grains

import (
	"bytes"
	"context"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// initSystem returns the grain init (salt/grains/core.py, _linux_init_system).
func (h *host) initSystem() string {
	if h.exists("/run/systemd/system") {
		return "systemd"
	}
	argv := strings.Fields(strings.ReplaceAll(h.text("/proc/1/cmdline"), "\x00", " "))
	if len(argv) == 0 {
		return "unknown"
	}
	if bin := h.which(argv[0]); strings.HasSuffix(bin, "bin/init") {
		return h.initInside(bin)
	}
	for _, name := range []string{"supervisord", "dumb-init", "tini"} {
		if p := h.which(name); p != "" && slices.Contains(argv, p) {
			return name
		}
	}
	if slices.Equal(argv, []string{"runit"}) || slices.Contains(argv, "/sbin/my_init") {
		return "runit"
	}
	return "unknown"
}

// initInside searches the program init for the name of an init system.
func (h *host) initInside(bin string) string {
	f, err := os.Open(h.at(bin))
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	const edge = len("upstart") - 1
	var rest []byte
	buf := make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(f, buf)
		part := append(rest, bytes.ToLower(buf[:n])...)
		for _, name := range []string{"upstart", "sysvinit", "systemd"} {
			if bytes.Contains(part, []byte(name)) {
				return name
			}
		}
		if err != nil {
			return "unknown"
		}
		rest = slices.Clone(part[max(0, len(part)-edge-1):])
	}
}

// systemd returns version and features if systemctl and localectl exist (_systemd).
func (h *host) systemd(ctx context.Context) *data.Map {
	if h.which("systemctl") == "" || h.which("localectl") == "" {
		return nil
	}
	g := data.NewMap("version", "UNDEFINED", "features", "")
	out, ok := h.output(ctx, "systemctl", "--version")
	if line := lines(out); ok && strings.HasPrefix(line[0], "systemd ") &&
		len(strings.Fields(line[0])) > 1 {
		g.Set("version", strings.Fields(line[0])[1])
		if len(line) > 1 {
			g.Set("features", line[1])
		}
	}
	return g
}

// selinux returns enabled and enforced if SELinux's tools exist; like them it asks the kernel
// (_selinux).
func (h *host) selinux() *data.Map {
	if h.which("selinuxenabled") == "" {
		return nil
	}
	mode, err := h.read("/sys/fs/selinux/enforce")
	g := data.NewMap("enabled", err == nil)
	if h.which("getenforce") == "" {
		return g
	}
	switch strings.TrimSpace(string(mode)) {
	case "1":
		g.Set("enforced", "Enforcing")
	case "0":
		g.Set("enforced", "Permissive")
	default:
		g.Set("enforced", "Disabled")
	}
	return g
}

// kernelParams returns the words of the kernel's command line as pairs (name, value); the value is
// nil unless the word has a single =.
func (c *collection) kernelParams(context.Context) *data.Map {
	b, err := c.host.read("/proc/cmdline")
	if err != nil || onWindows() {
		return nil
	}
	list := []any{}
	for _, word := range shellWords(clean(b), false) {
		part := strings.Split(word, "=")
		var value any
		if len(part) == 2 {
			value = strings.Trim(part[1], `"`)
		}
		list = append(list, data.Tuple{part[0], value})
	}
	return data.NewMap("kernelparams", list)
}

// firmware returns efi and efi-secure-boot.
func (c *collection) firmware(context.Context) *data.Map {
	g := data.NewMap("efi", false, "efi-secure-boot", false)
	for _, dir := range []string{"/sys/firmware/efi/efivars", "/sys/firmware/efi/vars"} {
		if !c.host.exists(dir) {
			continue
		}
		g.Set("efi", true)
		g.Set("efi-secure-boot", c.host.secureBoot(dir))
		break
	}
	return g
}

// secureBoot reads the variable SecureBoot, which is a file in efivars and was a directory in vars.
// It follows Salt 3007; 3006.0 looks for the directory in both, and so finds nothing on current
// kernels.
func (h *host) secureBoot(dir string) bool {
	part := "/data"
	if path.Base(dir) == "efivars" {
		part = ""
	}
	var found []string
	for _, name := range h.list(dir) {
		if file := dir + "/" + name + part; strings.HasPrefix(name, "SecureBoot-") &&
			h.exists(file) {
			found = append(found, file)
		}
	}
	if len(found) != 1 {
		return false
	}
	b, _ := h.read(found[0])
	return len(b) > 0 && b[len(b)-1] == 1
}

func (c *collection) transactional(context.Context) *data.Map {
	return data.NewMap("transactional", c.host.which("transactional-update") != "")
}
