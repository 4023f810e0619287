package grains

import (
	"regexp"
	"strings"
)

// osNames maps the first ten characters of a distribution's name, in lower case and without blanks,
// to the grain os.
func osNames() map[string]string {
	return map[string]string{
		"alibabaclo": "Alinux", "almalinux": "AlmaLinux", "alt": "ALT", "amazonami": "Amazon",
		"antergos": "Antergos", "arch": "Arch", "archarm": "Arch ARM", "chapeau": "Chapeau",
		"cloudlinux": "CloudLinux", "cloudserve": "CloudLinux",
		"debian": "Debian", "enterprise": "OEL", "fedoraremi": "Fedora", "gentoobase": "Gentoo",
		"korora": "Korora", "linuxmint": "Mint", "manjaro": "Manjaro", "manjarolin": "Manjaro",
		"mendel": "Mendel", "neon": "KDE neon", "nilrt": "NILinuxRT", "oracleserv": "OEL",
		"pidora": "Fedora", "poky": "Poky", "pop": "Pop", "raspbian": "Raspbian",
		"redhatente": "RedHat", "rocky": "Rocky", "scientific": "ScientificLinux", "sles": "SUSE",
		"slesexpand": "RES", "synology": "Synology", "univention": "Univention", "void": "Void",
	}
}

// osFamilies lists by family the values of the grain os that belong to it; any other os is its own
// family.
func osFamilies() map[string][]string {
	return map[string][]string{
		"Arch":      {"Antergos", "Arch ARM", "EndeavourOS", "Manjaro"},
		"Bluewhite": {"Bluewhite64"},
		"Debian": {"AstraLinuxCE", "AstraLinuxSE", "Cumulus", "Deepin", "Devuan", "GCEL", "IDMS",
			"KDE neon", "Kali", "Linaro", "Mendel", "Mint", "OSMC", "Parrot OS", "Pop", "Raspbian",
			"Trisquel", "TurnKey", "Ubuntu", "Univention", "antiX", "elementary",
			"elementary OS", "neon"},
		"Gentoo":   {"Funtoo"},
		"Mandriva": {"Mandrake"},
		"RedHat": {"ALT", "Alinux", "AlmaLinux", "Amazon", "CentOS", "CentOS Stream", "Chapeau",
			"CloudLinux", "FedBerry", "Fedora", "GoOSe", "Korora", "OEL", "OVS", "RES", "Rocky",
			"Sangoma", "Scientific", "ScientificLinux", "VMware Photon OS", "XCP",
			"XCP-ng", "XenServer"},
		"Slackware": {"Slamd64"},
		"Suse": {"SLED", "SLES", "SLES_SAP", "SUSE", "SUSE  Enterprise Server",
			"SUSE Enterprise Server", "openSUSE", "openSUSE Leap",
			"openSUSE Tumbleweed"},
		"VMware": {"VMwareESX"},
	}
}

// osName derives the grain os from a distribution's name and the ID of its os-release file ("" if
// unknown).
func osName(fullName, id string) string {
	switch {
	case id == "astra" && fullName == "Astra Linux (Orel)":
		return "AstraLinuxCE"
	case id == "astra" && fullName == "Astra Linux (Smolensk)":
		return "AstraLinuxSE"
	case id == "pop" && fullName == "Pop!_OS":
		return "Pop"
	}
	linuxWord := regexp.MustCompile(`(?i)[^\pL\pN_](?:gnu/)?linux`)
	name := strings.TrimSpace(linuxWord.ReplaceAllString(fullName, ""))
	short := []rune(strings.ToLower(strings.ReplaceAll(name, " ", "")))
	if known, ok := osNames()[string(short[:min(10, len(short))])]; ok {
		return known
	}
	return name
}

// osFamily returns the family of a value of the grain os.
func osFamily(os string) string {
	for family, members := range osFamilies() {
		for _, m := range members {
			if m == os {
				return family
			}
		}
	}
	return os
}

// familyOfID returns the family for the ID and ID_LIKE of an os-release file: the oldest ancestor
// named.
func familyOfID(id, like string) string {
	ids := append([]string{id}, strings.Fields(like)...)
	last := ids[len(ids)-1]
	if like != "" {
		for _, i := range ids {
			if i == "debian" || i == "ubuntu" {
				last = "debian"
			}
		}
	}
	if last == "fedora" {
		return "RedHat"
	}
	return capitalize(last)
}

// capitalize is Python's str.capitalize.
func capitalize(s string) string {
	r := []rune(s)
	if len(r) == 0 {
		return ""
	}
	return strings.ToTitle(string(r[:1])) + strings.ToLower(string(r[1:]))
}
