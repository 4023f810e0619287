package grains

import (
	"regexp"
	"slices"
	"strings"
)

// A distro is what the Python library distro 1.8, which Salt uses, reports about a Linux
// distribution.
type distro struct {
	name, version, codename string
}

// distro reads os-release and, for missing values, the distribution's release file in /etc. The
// program lsb_release is not run.
func (h *host) distro() distro {
	path := "/etc/os-release"
	if !h.isFile(path) {
		path = "/usr/lib/os-release"
	}
	fields := shellFields(h.text(path))
	file := h.releaseFile()
	versions := []string{fields["version_id"], file.version,
		parseRelease(fields["pretty_name"]).version}
	id := strings.ReplaceAll(strings.ToLower(fields["id"]), " ", "_")
	if id == "debian" || slices.Contains(strings.Fields(fields["id_like"]), "debian") {
		line, _, _ := strings.Cut(h.text("/etc/debian_version"), "\n")
		versions = append(versions, strings.TrimSpace(line))
	}
	d := distro{name: first(fields["name"], file.name), codename: file.codename}
	if c, ok := fields["codename"]; ok {
		d.codename = c
	}
	for _, v := range versions {
		if d.version == "" || strings.Count(v, ".") > strings.Count(d.version, ".") {
			d.version = v
		}
	}
	d.name, d.version, d.codename = unquote(d.name), unquote(d.version), unquote(d.codename)
	return d
}

func unquote(s string) string { return strings.Trim(strings.Trim(s, `"`), `'`) }

var codenameInVersion = regexp.MustCompile(`\((\D+)\)|,\s*(\D+)`)

// shellFields parses an os-release file as a shell would, with keys in lower case, and adds
// codename.
func shellFields(text string) map[string]string {
	fields := map[string]string{}
	for _, word := range shellWords(text, true) {
		if k, v, ok := strings.Cut(word, "="); ok {
			fields[strings.ToLower(k)] = v
		}
	}
	if m := codenameInVersion.FindStringSubmatch(fields["version"]); m != nil {
		fields["codename"] = first(m[1], m[2])
	}
	if v, ok := fields["version_codename"]; ok {
		fields["codename"] = v
	} else if v, ok := fields["ubuntu_codename"]; ok {
		fields["codename"] = v
	}
	return fields
}

// releaseFile reads the first release file in /etc that names a distribution.
func (h *host) releaseFile() distro {
	releaseName := regexp.MustCompile(`^[\pL\pN_]+[-_](release|version)$`)
	ignored := []string{"debian_version", "lsb-release", "oem-release", "os-release",
		"system-release", "plesk-release", "iredmail-release"}
	for _, name := range h.list("/etc") {
		if !releaseName.MatchString(name) || slices.Contains(ignored, name) ||
			!h.isFile("/etc/"+name) {
			continue
		}
		line, _, _ := strings.Cut(h.text("/etc/"+name), "\n")
		if d := parseRelease(line); d.name != "" {
			return d
		}
	}
	return distro{}
}

// releaseReversed matches "NAME release VERSION (CODENAME)" written backwards, so that the last
// version counts.
var releaseReversed = regexp.MustCompile(`^(?:[^)]*\)(.*)\()? *(?:STL )?([\d.+\-a-z]*\d) *(?:esaeler *)?(.+)`)

// parseRelease parses the line of a release file.
func parseRelease(line string) distro {
	line = strings.TrimSpace(line)
	if m := releaseReversed.FindStringSubmatch(reverse(line)); m != nil {
		return distro{name: reverse(m[3]), version: reverse(m[2]), codename: reverse(m[1])}
	}
	return distro{name: line}
}

func reverse(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

// shellWords splits text as a POSIX shell does, without any expansion (Python's shlex). A quote
// that is never closed ends at the end of the text.
func shellWords(text string, comments bool) []string {
	var words []string
	var word strings.Builder
	open := false // a word has begun, though it may be empty
	quote := byte(0)
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	for i := 0; i < len(text); i++ {
		switch ch := text[i]; {
		case quote != 0 && ch == quote:
			quote = 0
		case ch == '\\' && quote != '\'' && i+1 < len(text):
			i++
			if quote == '"' && text[i] != '"' && text[i] != '\\' {
				word.WriteByte('\\')
			}
			word.WriteByte(text[i])
			open = true
		case quote != 0:
			word.WriteByte(ch)
		case ch == '"' || ch == '\'':
			quote, open = ch, true
		case ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n':
			end()
		case ch == '#' && comments:
			end()
			for i+1 < len(text) && text[i] != '\n' {
				i++
			}
		default:
			word.WriteByte(ch)
			open = true
		}
	}
	end()
	return words
}
