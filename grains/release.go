package grains

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
)

// osRelease parses the fields of an os-release file as Python's platform.freedesktop_os_release
// does: one field per line. Quotes around the whole value are removed, and so is a backslash before
// \ " ' $ and `.
func osRelease(text string) map[string]string {
	fields := map[string]string{"NAME": "Linux", "ID": "linux", "PRETTY_NAME": "Linux"}
	for _, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(line, "=")
		if !ok || key == "" || strings.IndexFunc(key, notOfKey) >= 0 {
			continue
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') &&
			value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		fields[key] = unescape(value)
	}
	return fields
}

func notOfKey(r rune) bool {
	return r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("\\$\"'`", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// lsbRelease returns the grains of an lsb-release file, lsb_distrib_id and so on.
func lsbRelease(text string) *data.Map {
	lsbLine := regexp.MustCompile(`^(DISTRIB_(?:ID|RELEASE|CODENAME|DESCRIPTION))=['"]?([\pL\pN_\s.\-]+)`)
	g := data.NewMap()
	for _, line := range strings.Split(text, "\n") {
		if m := lsbLine.FindStringSubmatch(line); m != nil {
			g.Set("lsb_"+strings.ToLower(m[1]), strings.TrimRightFunc(m[2], unicode.IsSpace))
		}
	}
	return g
}

// distribution returns the grains that name the Linux distribution: lsb_*, os, os_family,
// osfullname, osrelease, oscodename (salt/grains/core.py, _linux_distribution_data).
func (h *host) distribution() *data.Map {
	g := lsbRelease(h.text("/etc/lsb-release"))
	release := map[string]string{}
	for _, path := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		if b, err := h.read(path); err == nil {
			release = osRelease(clean(b))
			g.Update(releaseGrains(release))
			break
		}
	}
	g.Delete("osrelease")
	h.legacy(g, release)
	return g
}

// releaseGrains returns the grains that follow from the fields of an os-release file alone;
// oscodename and osrelease are nil if the fields are missing.
func releaseGrains(r map[string]string) *data.Map {
	return data.NewMap(
		"os", osName(r["NAME"], r["ID"]),
		"os_family", familyOfID(r["ID"], r["ID_LIKE"]),
		"oscodename", orNil(first(r["VERSION_CODENAME"], codenameQuirk(r))),
		"osfullname", strings.TrimSpace(r["NAME"]),
		"osrelease", orNil(first(r["VERSION_ID"], releaseQuirk(r))))
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

var (
	versionAndName = regexp.MustCompile(`^\d[\d.+\-a-z]* \((.+)\)`)
	prettyVersion  = regexp.MustCompile(`^[^\d]+ (\d[\d.+\-a-z]*) \(.+\)`)
)

// codenameQuirk returns the code name for distributions that store it in another field.
func codenameQuirk(r map[string]string) string {
	switch r["ID"] {
	case "astra":
		return r["VARIANT_ID"]
	case "almalinux", "rocky":
		return group(versionAndName, r["VERSION"])
	}
	return ""
}

func releaseQuirk(r map[string]string) string {
	if r["ID"] != "mendel" {
		return ""
	}
	return group(prettyVersion, r["PRETTY_NAME"])
}

func group(re *regexp.Regexp, s string) string {
	if m := re.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// releaseInfo returns osrelease_info, osmajorrelease and osfinger (_osrelease_data).
func releaseInfo(os, fullName, release string) *data.Map {
	g := data.NewMap()
	var info data.Tuple
	for _, part := range strings.Split(release, ".") {
		info = append(info, number(part))
	}
	g.Set("osrelease_info", info)
	switch v := info[0].(type) {
	case int64:
		g.Set("osmajorrelease", v)
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
			g.Set("osmajorrelease", n)
		}
	}
	name := fullName
	if slices.Contains([]string{"Debian", "FreeBSD", "OpenBSD", "NetBSD", "Mac", "Raspbian"}, os) {
		name = os
	}
	version := data.Str(info[0])
	if os == "Ubuntu" || os == "Pop" {
		version = release
	}
	g.Set("osfinger", name+"-"+version)
	return g
}

// number returns text that is all digits as an integer, and other text as it is.
func number(s string) any {
	if s == "" || strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) >= 0 {
		return s
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return s
	}
	return n
}
