package aptsources

import (
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// mainFile is the default file for sources.
const mainFile = "/etc/apt/sources.list"

// An option is one of the words in brackets of a source, or a field of a stanza other than its
// types, URIs, suites and components.
type option struct{ name, value string }

// An entry is one source, or any other content of a sources file; in that case it is invalid.
type entry struct {
	file     string
	text     string // as read, with its line feed; for a stanza, the whole stanza
	invalid  bool
	disabled bool
	kind     string // deb or deb-src
	uri      string
	dist     string
	comps    []string
	options  []option // in their original order
	comment  string
	stanza   *stanza // nil for a line
	changed  bool
}

var cdrom = regexp.MustCompile(`^(.*)(cdrom:.*/)(.*)`)

// parseLine parses a line of a .list file. If the line is not a source, the entry is invalid.
func parseLine(text, file string) *entry {
	e := &entry{file: file, text: text, invalid: true}
	line := strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(line, "#"); ok {
		e.disabled, line = true, rest
	}
	if i := strings.Index(line, "#"); i > 0 {
		line, e.comment = line[:i], line[i+1:]
	}
	words := e.takeOptions(splitLine(line))
	if len(words) < 3 || !slices.Contains([]string{"deb", "deb-src", "rpm", "rpm-src"}, words[0]) {
		return e
	}
	e.invalid = false
	e.kind, e.uri, e.dist, e.comps = words[0], words[1], words[2], words[3:]
	return e
}

// splitLine returns the words of a source. The name of a cdrom contains blanks.
func splitLine(line string) []string {
	m := cdrom.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return strings.Fields(line)
	}
	return slices.Concat(strings.Fields(m[1]), []string{strings.TrimSpace(m[2])},
		strings.Fields(m[3]))
}

// takeOptions stores the words in brackets as options of e, and returns the other words. It returns
// none if a bracket is not closed.
func (e *entry) takeOptions(words []string) []string {
	if len(words) < 2 || !strings.HasPrefix(words[1], "[") {
		return words
	}
	end := slices.IndexFunc(words[1:], func(w string) bool { return strings.HasSuffix(w, "]") }) + 1
	if end == 0 {
		return nil
	}
	inside := strings.Trim(strings.Join(words[1:end+1], " "), "[]")
	for w := range strings.FieldsSeq(inside) {
		name, value, _ := strings.Cut(w, "=")
		e.options = append(e.options, option{name, value})
	}
	return append([]string{words[0]}, words[end+1:]...)
}

func (e *entry) option(name string) string {
	for _, o := range e.options {
		if o.name == name {
			return o.value
		}
	}
	return ""
}

// setOption sets an option, or removes it if the value is "".
func (e *entry) setOption(name, value string) {
	if e.option(name) == value {
		return
	}
	e.changed = true
	kept := slices.DeleteFunc(slices.Clone(e.options),
		func(o option) bool { return o.name == name })
	if value != "" {
		kept = append(kept, option{name, value})
	}
	e.options = kept
}

func (e *entry) architectures() []string {
	if v := e.option("arch"); v != "" {
		return strings.Split(v, ",")
	}
	return nil
}

func (e *entry) signedBy() string { return e.option("signed-by") }

// others returns the options other than architectures and key.
func (e *entry) others() []option {
	return slices.DeleteFunc(slices.Clone(e.options),
		func(o option) bool { return o.name == "arch" || o.name == "signed-by" })
}

// setOthers replaces the options other than architectures and key.
func (e *entry) setOthers(options []option) {
	if slices.Equal(e.others(), options) {
		return
	}
	e.changed = true
	e.options = append(slices.DeleteFunc(slices.Clone(e.options),
		func(o option) bool { return o.name != "arch" && o.name != "signed-by" }), options...)
}

// line returns the source as a line of a .list file, in Salt's order of options: architectures,
// key, others.
func (e *entry) line() string {
	words := []string{e.kind}
	if e.disabled {
		words = []string{"#", e.kind}
	}
	var options []string
	for _, o := range []option{{"arch", e.option("arch")}, {"signed-by", inLine(e.signedBy())}} {
		if o.value != "" {
			options = append(options, o.name+"="+o.value)
		}
	}
	for _, o := range e.others() {
		options = append(options, o.name+"="+strings.Join(strings.Fields(o.value), ","))
	}
	if len(options) > 0 {
		words = append(words, "["+strings.Join(options, " ")+"]")
	}
	words = append(append(words, e.uri, e.dist), e.comps...)
	if e.comment != "" {
		words = append(words, "#"+e.comment)
	}
	return strings.Join(words, " ")
}

// inLine returns the key of a source in a form that a line can have. A stanza may contain the key
// itself; a line cannot.
func inLine(signedBy string) string {
	if strings.Contains(signedBy, "\n") {
		return ""
	}
	return strings.Join(strings.Fields(signedBy), ",")
}

// shown returns the line of a source as shown to operators: as it is in its file.
func (e *entry) shown() string {
	if e.stanza != nil || e.changed {
		return e.line()
	}
	return strings.TrimSpace(e.text)
}

// repo returns a source in the form of pkg.list_repos.
func (e *entry) repo() *data.Map {
	return data.NewMap("file", e.file, "comps", data.Values(e.comps), "disabled", e.disabled,
		"dist", e.dist, "type", e.kind, "uri", e.uri, "line", e.shown(), "architectures",
		data.Values(e.architectures()), "signedby", e.signedBy())
}

// same reports whether two sources have the same type, URI and suite.
func (e *entry) same(o *entry) bool {
	return e.kind == o.kind && e.dist == o.dist &&
		strings.TrimRight(e.uri, "/") == strings.TrimRight(o.uri, "/")
}
