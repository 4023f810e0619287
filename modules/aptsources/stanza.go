package aptsources

import (
	"slices"
	"strings"
)

// A field is a field of a stanza: its name and its raw lines with their line feeds. The field of a
// comment has no name.
type field struct{ name, text string }

// value returns the value of a field without its name; continuation lines are kept as separate
// lines.
func (f field) value() string {
	_, v, _ := strings.Cut(f.text, ":")
	var lines []string
	for line := range strings.SplitSeq(strings.TrimSpace(v), "\n") {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.Join(lines, "\n")
}

// A stanza is a paragraph of a .sources file.
type stanza struct {
	fields  []field
	tail    string   // empty lines after it
	sources []*entry // as they were read
}

// parseStanzas parses a .sources file (sources.list(5), deb822-style format). A paragraph that is
// not a source becomes one invalid entry.
func parseStanzas(text, file string) []*entry {
	var entries []*entry
	for _, p := range paragraphs(text) {
		entries = append(entries, parseStanza(p, file)...)
	}
	return entries
}

// paragraphs splits a text at empty lines, which stay with the preceding paragraph.
func paragraphs(text string) []string {
	var all []string
	var p strings.Builder
	empty := false
	for line := range strings.Lines(text) {
		blank := strings.TrimSpace(line) == ""
		if empty && !blank {
			all = append(all, p.String())
			p.Reset()
		}
		empty = blank
		p.WriteString(line)
	}
	if p.Len() > 0 {
		all = append(all, p.String())
	}
	return all
}

func parseStanza(text, file string) []*entry {
	s := &stanza{}
	for line := range strings.Lines(text) {
		if !s.add(line) {
			return []*entry{{file: file, text: text, invalid: true}}
		}
	}
	types, uris, suites := s.words("Types"), s.words("URIs"), s.words("Suites")
	// Each source is an entry. A stanza with an absurd number of sources is left alone.
	if n := len(types) * len(uris) * len(suites); n == 0 || n > maxSources {
		return []*entry{{file: file, text: text, invalid: true}}
	}
	for _, kind := range types {
		for _, uri := range uris {
			for _, suite := range suites {
				s.sources = append(s.sources, s.entry(text, file, kind, uri, suite))
			}
		}
	}
	return slices.Clone(s.sources)
}

// maxSources is the maximum number of sources in one stanza.
const maxSources = 1000

// add adds a line to the stanza, and reports whether the line is valid in one.
func (s *stanza) add(line string) bool {
	switch {
	case strings.TrimSpace(line) == "":
		s.tail += line
	case strings.HasPrefix(line, "#"):
		s.fields = append(s.fields, field{"", line})
	case line[0] == ' ' || line[0] == '\t':
		if len(s.fields) == 0 {
			return false
		}
		s.fields[len(s.fields)-1].text += line
	default:
		name, _, ok := strings.Cut(line, ":")
		s.fields = append(s.fields, field{strings.TrimSpace(name), line})
		return ok && strings.TrimSpace(name) != ""
	}
	return true
}

func (s *stanza) value(name string) string {
	for _, f := range s.fields {
		if f.name != "" && strings.EqualFold(f.name, name) {
			return f.value()
		}
	}
	return ""
}

func (s *stanza) words(name string) []string { return strings.Fields(s.value(name)) }

// entry returns one of the sources of a stanza.
func (s *stanza) entry(text, file, kind, uri, suite string) *entry {
	e := &entry{file: file, text: text, kind: kind, uri: uri, dist: suite,
		comps: s.words("Components"), stanza: s}
	e.disabled = !enabled(s.value("Enabled"))
	for _, f := range s.fields {
		if o, ok := optionOf(f); ok {
			e.options = append(e.options, o)
		}
	}
	return e
}

// optionOf converts a field of a stanza to the corresponding option of a line.
func optionOf(f field) (option, bool) {
	switch name := strings.ToLower(f.name); name {
	case "", "types", "uris", "suites", "components", "enabled":
		return option{}, false
	case "architectures":
		return option{"arch", strings.Join(strings.Fields(f.value()), ",")}, true
	case "languages":
		return option{"lang", f.value()}, true
	case "targets":
		return option{"target", f.value()}, true
	default:
		return option{name, f.value()}, true
	}
}

// fieldName returns the stanza field for an option of a line.
func fieldName(name string) string {
	switch name {
	case "arch":
		return "Architectures"
	case "lang":
		return "Languages"
	case "target":
		return "Targets"
	case "pdiffs":
		return "PDiffs"
	}
	words := strings.Split(name, "-")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "-")
}

// set sets the value of a field, or removes the field if the value is "". A field that already has
// the value is left unchanged.
func (s *stanza) set(name, value string) {
	at := slices.IndexFunc(s.fields, func(f field) bool { return strings.EqualFold(f.name, name) })
	text := name + ": " + strings.ReplaceAll(value, "\n", "\n ") + "\n"
	switch {
	case value == "" && at >= 0:
		s.fields = slices.Delete(s.fields, at, at+1)
	case value == "" || at >= 0 && s.fields[at].value() == value:
	case at >= 0:
		s.fields[at].text = text
	default:
		if n := len(s.fields); n > 0 && !strings.HasSuffix(s.fields[n-1].text, "\n") {
			s.fields[n-1].text += "\n"
		}
		s.fields = append(s.fields, field{name, text})
	}
}

// stanzaText returns a stanza for sources that differ only in types, URIs and suites; all
// combinations of these must exist. It is based on an old stanza, which may be nil.
func stanzaText(old *stanza, e *entry, types, uris, suites []string) string {
	s := &stanza{}
	if old != nil {
		s.fields = slices.Clone(old.fields)
	}
	if e.disabled == enabled(s.value("Enabled")) {
		s.set("Enabled", map[bool]string{true: "no"}[e.disabled])
	}
	s.set("Types", strings.Join(types, " "))
	s.set("URIs", strings.Join(uris, " "))
	s.set("Suites", strings.Join(suites, " "))
	s.set("Components", strings.Join(e.comps, " "))
	for _, f := range slices.Clone(s.fields) {
		if o, ok := optionOf(f); ok && e.option(o.name) == "" {
			s.set(f.name, "")
		}
	}
	for _, o := range e.options {
		if old == nil || old.entryOption(o.name) != o.value {
			s.set(fieldName(o.name), inField(o))
		}
	}
	var b strings.Builder
	for _, f := range s.fields {
		b.WriteString(f.text)
	}
	return strings.TrimSuffix(b.String(), "\n") + "\n"
}

// enabled parses a field as apt's StringToBool does; unknown words mean yes.
func enabled(value string) bool {
	switch strings.ToLower(value) {
	case "no", "false", "without", "off", "disable", "0":
		return false
	}
	return true
}

// entryOption returns a field of the stanza in the form of a source's option.
func (s *stanza) entryOption(name string) string {
	for _, f := range s.fields {
		if o, ok := optionOf(f); ok && o.name == name {
			return o.value
		}
	}
	return ""
}

// inField converts the value of an option to the form of a field: words separated by blanks. A key
// that is embedded in the field keeps its lines.
func inField(o option) string {
	if strings.Contains(o.value, "\n") || o.name == "signed-by" {
		return o.value
	}
	return strings.ReplaceAll(o.value, ",", " ")
}
