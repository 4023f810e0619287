package grains

import (
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
)

// legacy completes the grains of the distribution as Salt does where Python has no module
// lsb_release, which is so in all of Salt's own packages (salt/grains/core.py,
// _legacy_linux_distribution_data).
func (h *host) legacy(g *data.Map, release map[string]string) {
	switch {
	case strings.HasPrefix(strings.ToLower(g.Text("lsb_distrib_description")), "antergos"):
		g.Set("osfullname", "Antergos Linux")
	case !g.Has("lsb_distrib_id"):
		h.lsbFromFiles(g, release)
	}
	d := h.distro()
	h.legacyNames(g, d)
	if !g.Has("os") {
		g.Set("os", osName(g.Text("osfullname"), ""))
	}
	g.Set("os_family", osFamily(g.Text("os")))
}

func (h *host) legacyNames(g *data.Map, d distro) {
	if !g.Has("osfullname") {
		name := d.name
		if v, ok := g.Get("lsb_distrib_id"); ok {
			name = v.(string)
		}
		if strings.HasPrefix(strings.ToLower(g.Text("lsb_distrib_id")), "nilrt") {
			name = "nilrt"
		}
		g.Set("osfullname", strings.TrimSpace(name))
	}
	if !g.Has("osrelease") {
		codename := g.Text("lsb_distrib_codename")
		if strings.Contains(codename, "CentOS Linux 7") ||
			strings.Contains(codename, "CentOS Linux 8") {
			g.Delete("lsb_distrib_release")
		}
		version := d.version
		if v, ok := g.Get("lsb_distrib_release"); ok {
			version = v.(string)
		}
		g.Set("osrelease", strings.TrimSpace(version))
	}
	unwrapCodename(g)
	g.Set("oscodename", first(strings.TrimSpace(g.Text("lsb_distrib_codename")), d.codename))
	if strings.Contains(g.Text("oscodename"), "Red Hat") {
		g.Set("oscodename", d.codename)
	}
}

// unwrapCodename takes the code name out of the brackets around it, for distributions that have it
// there.
func unwrapCodename(g *data.Map) {
	_, name, ok := strings.Cut(g.Text("lsb_distrib_codename"), "(")
	if !ok {
		return
	}
	name, _, _ = strings.Cut(name, ")")
	switch os := g.Text("os"); {
	case os == "AstraLinuxSE":
		if words := strings.Fields(name); len(words) > 0 {
			g.Set("lsb_distrib_codename", strings.ToLower(words[0]))
		}
	case strings.Contains(os, "Rocky"), strings.Contains(os, "AlmaLinux"):
		g.Set("lsb_distrib_codename", name)
	}
}

// lsbFromFiles reads lsb_distrib_* from the first existing file that is specific to a distribution.
func (h *host) lsbFromFiles(g *data.Map, release map[string]string) {
	switch {
	case len(release) > 0:
		lsbFromRelease(g, release)
	case h.isFile("/etc/SuSE-release"):
		lsbFromSuse(g, h.text("/etc/SuSE-release"))
	case h.isFile("/etc/altlinux-release"):
		lsbFromAlt(g, h.text("/etc/altlinux-release"))
	case h.isFile("/etc/centos-release"):
		lsbFromCentOS(g, h.text("/etc/centos-release"), h.text("/etc/redhat-release"))
	case h.isFile("/etc.defaults/VERSION") && h.isFile("/etc.defaults/synoinfo.conf"):
		g.Set("osfullname", "Synology")
		if v := synologyVersion(h.text("/etc.defaults/VERSION")); v != "" {
			g.Set("osrelease", v)
		}
	}
}

func lsbFromRelease(g *data.Map, r map[string]string) {
	g.Set("lsb_distrib_id", strings.TrimSpace(r["NAME"]))
	if v, ok := r["VERSION_ID"]; ok {
		g.Set("lsb_distrib_release", v)
	}
	if words := strings.Fields(r["PRETTY_NAME"]); r["ID"] == "mendel" && len(words) > 2 {
		g.Set("lsb_distrib_release", words[2])
	}
	codename, ok := r["VERSION_CODENAME"]
	if !ok {
		codename = r["PRETTY_NAME"]
	}
	g.Set("lsb_distrib_codename", codename)
	name := parseCPE(r["CPE_NAME"])
	if vendor := strings.ToLower(name.vendor); vendor != "suse" && vendor != "opensuse" {
		return
	}
	g.Set("os", "SUSE")
	switch {
	case r["NAME"] == "openSUSE Leap":
		g.Set("osfullname", "Leap")
	case r["VERSION"] == "Tumbleweed":
		g.Set("osfullname", "Tumbleweed")
	}
	if name.version != "" && name.vendor == "opensuse" {
		g.Set("lsb_distrib_release", name.version)
	}
}

type cpe struct{ vendor, version string }

// parseCPE parses the vendor and version of a CPE name, in its URI form
// (cpe:/o:vendor:product:version) or its text form (cpe:2.3:o:vendor:product:version). Other names
// return nothing.
func parseCPE(s string) cpe {
	part := strings.Split(s, ":")
	if len(part) < 5 || part[0] != "cpe" {
		return cpe{}
	}
	known := func(s string) string {
		if s == "*" {
			return ""
		}
		return s
	}
	switch n := len(part); {
	case strings.HasPrefix(part[1], "/"):
		return cpe{part[2], part[4]}
	case part[1] == "2.3" && (n == 6 || n > 7 && n <= 13):
		return cpe{known(part[3]), known(part[5])}
	}
	return cpe{}
}

var (
	bracketed = regexp.MustCompile(`\(.+\)`)
	noDigits  = regexp.MustCompile(`[^0-9]`)
)

func lsbFromSuse(g *data.Map, text string) {
	g.Set("lsb_distrib_id", "SUSE")
	var version, patch string
	for _, line := range lines(text) {
		switch lower := strings.ToLower(line); {
		case strings.Contains(lower, "enterprise"):
			g.Set("lsb_distrib_id", "SLES")
			g.Set("lsb_distrib_codename", strings.TrimSpace(bracketed.ReplaceAllString(line, "")))
		case strings.Contains(lower, "version"):
			version = noDigits.ReplaceAllString(line, "")
		case strings.Contains(lower, "patchlevel"):
			patch = noDigits.ReplaceAllString(line, "")
		}
	}
	if patch != "" {
		version += "." + patch
		if name := g.Text("lsb_distrib_codename"); name != "" &&
			!strings.Contains(name, "SP"+patch) {
			g.Set("lsb_distrib_codename", name+" SP"+patch)
		}
	}
	g.Set("lsb_distrib_release", version)
	if g.Text("lsb_distrib_codename") == "" {
		g.Set("lsb_distrib_codename", "n.a")
	}
}

func lsbFromAlt(g *data.Map, text string) {
	g.Set("lsb_distrib_id", "altlinux")
	for _, line := range lines(text) {
		if word := strings.Fields(line); len(word) > 3 && word[0] == "ALT" {
			g.Set("lsb_distrib_release", word[2])
			g.Set("lsb_distrib_codename", strings.NewReplacer("(", "", ")", "").Replace(word[3]))
		}
	}
}

var (
	dotted   = regexp.MustCompile(`\d+\.\d+`)
	inBraces = regexp.MustCompile(`\((.*?)\)`)
)

func lsbFromCentOS(g *data.Map, text, redHat string) {
	g.Set("lsb_distrib_id", "CentOS")
	if strings.Contains(strings.ToLower(redHat), "red hat enterprise linux server") {
		g.Set("lsb_distrib_id", "RedHat")
	}
	for _, line := range lines(text) {
		if v := dotted.FindString(line); v != "" {
			g.Set("lsb_distrib_release", v)
		}
		if m := inBraces.FindStringSubmatch(line); m != nil {
			g.Set("lsb_distrib_codename", m[1])
		}
	}
}

// synologyVersion returns major.minor-build, or "" if one of them is missing.
func synologyVersion(text string) string {
	found := map[string]string{}
	for _, line := range lines(text) {
		if part := strings.Split(line, "="); len(part) == 2 {
			found[part[0]] = strings.Trim(part[1], `"`)
		}
	}
	major, minor, build := found["majorversion"], found["minorversion"], found["buildnumber"]
	if major == "" || minor == "" || build == "" {
		return ""
	}
	return major + "." + minor + "-" + build
}
