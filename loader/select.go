package loader

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/match"
)

var codeBlock = regexp.MustCompile(` *.. code-block:: \S+\n{1,2}`)

var directives = strings.NewReplacer(
	".. note::", "Note:", ".. warning::", "Warning:",
	".. versionadded::", "New in version", ".. versionchanged::", "Changed in version",
)

// StripRST removes reStructuredText directives from a docstring, like strip_rst of
// salt/utils/doc.py. It returns nil for an empty docstring.
func StripRST(doc string) any {
	if doc == "" {
		return nil
	}
	return directives.Replace(codeBlock.ReplaceAllString(doc, ""))
}

// Argspec returns the sys.argspec report for the functions selected by word: a module, or a glob or
// full name if it contains * or a dot. As in Salt, "" selects none. The report has the form of
// argspec_report in salt/utils/args.py.
func (r *Registry) Argspec(word string) *data.Map {
	report := &data.Map{}
	for _, fun := range r.Select(word) {
		if f, ok := r.Func(fun); ok {
			report.Set(fun, f.Spec().Argspec())
		}
	}
	return report
}

// Select returns the sorted names of the functions selected by word: a glob or full name if it
// contains * or a dot, else a module.
func (r *Registry) Select(word string) []string {
	names := []string{}
	glob := strings.ContainsAny(word, "*.")
	for _, fun := range r.Names() {
		if glob && Glob(word, fun) || !glob && strings.HasPrefix(fun, word+".") {
			names = append(names, fun)
		}
	}
	return names
}

// Argspec returns the parameters in the form of sys.argspec.
func (s *Spec) Argspec() *data.Map {
	var args, defaults, varargs, kwargs any
	var names []any
	var values data.Tuple
	for _, p := range s.Params {
		names = append(names, p.Name)
		if !p.Required {
			values = append(values, p.Default)
		}
	}
	if names != nil {
		args = names
	}
	if values != nil {
		defaults = values
	}
	if s.Args != "" {
		varargs = true
	}
	if s.Kwargs != "" {
		kwargs = true
	}
	return data.NewMap("args", args, "defaults", defaults, "varargs", varargs, "kwargs", kwargs)
}

// pyStrip trims the characters that Python's str.strip removes.
func pyStrip(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f })
}

// Glob reports whether name matches a shell pattern, with the rules of Python's fnmatch.fnmatch on
// Unix.
func Glob(pattern, name string) bool { return match.CompileGlob(pattern).Match(name) }
