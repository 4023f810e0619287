package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/yaml"
)

const (
	maxFile     = 4 << 20 // bytes of one file
	maxIncludes = 16      // levels of nested includes
)

// A source reads the files of a configuration. Faults are collected, so that all are reported at
// once.
type source struct {
	env    func(string) string
	report *Report
	faults []error
}

func (s *source) fault(e *Error) { s.faults = append(s.faults, e) }

// overrides returns the options set by the main file and the files that it includes
// (salt.config.load_config, include_config). Includes are relative to main even if override is read
// instead.
func (s *source) overrides(main, override string, defaults *data.Map) *data.Map {
	file := main
	if override != "" {
		file = override
	}
	opts := s.main(file)
	include, ok := opts.Get("default_include")
	if !ok {
		include = defaults.Value("default_include")
	}
	own := opts.Value("include")
	update(opts, s.include(include, main, false, 0))
	update(opts, s.include(own, main, true, 0))
	return opts
}

func (s *source) main(file string) *data.Map {
	s.report.Watch = append(s.report.Watch, file)
	opts, err := s.file(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &data.Map{}
	case err != nil:
		s.faults = append(s.faults, err)
		return &data.Map{}
	}
	opts.Set("conf_file", file)
	return opts
}

// include reads the files that match a list of patterns. Each overrides the ones before it: maps
// are merged and lists joined.
func (s *source) include(patterns any, from string, mustMatch bool, level int) *data.Map {
	all := &data.Map{}
	if level >= maxIncludes {
		s.fault(&Error{File: from, Option: "include",
			Text:       fmt.Sprintf("more than %d levels of includes", maxIncludes),
			Suggestion: "does a file include itself?"})
		return all
	}
	for _, pattern := range words(patterns) {
		for _, file := range s.matches(pattern, from, mustMatch) {
			opts := s.included(file, level)
			if schedule, ok := opts.Value("schedule").(*data.Map); ok {
				if earlier, ok := all.Value("schedule").(*data.Map); ok {
					update(earlier, schedule)
				}
			}
			merge(all, opts)
		}
	}
	return all
}

func (s *source) included(file string, level int) *data.Map {
	opts, err := s.file(file)
	switch {
	case err != nil && strings.HasSuffix(file, "_schedule.conf"):
		// the minion writes this file itself
		s.report.warn(Origin{}, "%v; the saved schedule is left out", err)
		s.report.broken = append(s.report.broken, file)
		return &data.Map{}
	case err != nil:
		s.faults = append(s.faults, err)
		return &data.Map{}
	}
	if more, ok := opts.Get("include"); ok {
		update(opts, s.include(more, file, false, level+1))
	}
	return opts
}

// matches returns the files that match a pattern, sorted.
func (s *source) matches(pattern, from string, mustMatch bool) []string {
	if pattern == "" {
		return nil
	}
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
		pattern = filepath.Join(accounts.Home(s.env), rest)
	}
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(filepath.Dir(from), pattern)
	}
	files, err := filepath.Glob(pattern)
	if err != nil {
		s.fault(&Error{File: from, Option: "include",
			Text: fmt.Sprintf("pattern %q: %v", pattern, err)})
	}
	if !strings.HasPrefix(filepath.Base(pattern), ".") {
		files = slices.DeleteFunc(files,
			func(f string) bool { return strings.HasPrefix(filepath.Base(f), ".") })
	}
	if len(files) == 0 && mustMatch && err == nil {
		s.report.warn(s.report.Sources["include"], "include: %s matches no files", pattern)
	}
	slices.Sort(files)
	s.report.Watch = append(append(s.report.Watch, filepath.Dir(pattern)), files...)
	return files
}

// file reads one file and records the positions of its options.
func (s *source) file(name string) (*data.Map, error) {
	src, err := readBounded(name)
	if err != nil {
		return nil, err
	}
	s.report.Files = append(s.report.Files, name)
	v, at, err := yaml.LoadPositions(src, yaml.Options{Name: name})
	if err != nil {
		return nil, syntaxError(name, src, err)
	}
	if v == nil {
		return &data.Map{}, nil
	}
	opts, ok := v.(*data.Map)
	if !ok {
		return nil, &Error{File: name, Line: 1,
			Text: "expected options, one NAME: VALUE a line, got " + describe(v)}
	}
	opts = s.named(name, opts, at)
	kept, _ := data.Clone(opts).(*data.Map) // later includes are merged into opts
	s.report.documents = append(s.report.documents, document{name, kept, at})
	return opts, nil
}

// named records the origins of opts, and converts every name and the id to text.
func (s *source) named(file string, opts *data.Map, at *yaml.Positions) *data.Map {
	out := &data.Map{}
	for k, v := range opts.All() {
		name := data.Str(k)
		origin := Origin{File: file}
		if mark, ok := at.Of(name); ok {
			origin.Line = mark.Line + 1
		}
		s.report.Sources[name] = origin
		if _, isText := v.(string); name == "id" && v != nil && !isText {
			s.report.warn(origin, "id: %s was read as the text %q; put the id in quotes",
				describe(v), data.Str(v))
			v = data.Str(v)
		}
		out.Set(name, v)
	}
	return out
}

func readBounded(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	switch {
	case info.IsDir():
		return nil, &Error{File: name, Text: "is a directory", Suggestion: "include its files: " +
			filepath.Join(name, "*.conf")}
	case info.Size() > maxFile:
		return nil, &Error{File: name,
			Text: fmt.Sprintf("has %d bytes; the limit is %d", info.Size(), maxFile)}
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	if len(src) > maxFile {
		return nil, &Error{File: name, Text: fmt.Sprintf("has more than %d bytes", maxFile)}
	}
	return src, nil
}

// syntaxError returns the error for a file that cannot be parsed, with the line.
func syntaxError(name string, src []byte, err error) error {
	e := &Error{File: name, Text: err.Error()}
	var ye *yaml.Error
	if !errors.As(err, &ye) {
		return e
	}
	e.Text, e.Line = ye.Problem, ye.Line()
	if ye.Context != "" {
		e.Text = ye.Context + ": " + ye.Problem
		if ye.ContextMark != nil && ye.ContextMark.Line+1 != e.Line {
			e.Text = fmt.Sprintf("%s that begins in line %d: %s", ye.Context,
				ye.ContextMark.Line+1, ye.Problem)
		}
	}
	if ye.ProblemMark == nil {
		return e
	}
	line := lineAt(src, ye.ProblemMark.Line)
	e.Excerpt = excerpt(line, ye.ProblemMark.Column)
	e.Suggestion = syntaxAdvice(line, ye)
	return e
}

func lineAt(src []byte, n int) string {
	for line := range strings.Lines(string(src)) {
		if n == 0 {
			return strings.TrimRight(line, "\r\n")
		}
		n--
	}
	return ""
}

// excerpt returns a line with a mark below the column; tabs and control characters are shown as one
// space.
func excerpt(line string, column int) string {
	const most = 120
	runes := []rune(strings.ToValidUTF8(line, "?"))
	start := max(0, column-most/2)
	if start >= len(runes) {
		start = 0
	}
	runes = runes[start:min(len(runes), start+most)]
	for i, r := range runes {
		if r < ' ' || r == 0x7F {
			runes[i] = ' '
		}
	}
	return "    " + string(runes) + "\n    " +
		strings.Repeat(" ", min(column-start, len(runes))) + "^"
}

func syntaxAdvice(line string, e *yaml.Error) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	switch {
	case strings.Contains(indent, "\t"):
		return "indent with spaces, not with tabs"
	case strings.Contains(e.Problem, "mapping values are not allowed"):
		return "put a value that holds a colon in quotes, or check the indentation"
	case strings.Contains(e.Problem, "found conflicting ID"):
		return "an option can be set once in a file"
	case strings.Contains(e.Problem, "cannot start any token"):
		return "put a value that begins with this character in quotes"
	case strings.Contains(e.Problem, "could not find expected ':'"):
		return "write NAME: VALUE, with a space after the colon"
	}
	return ""
}

// update sets all options of src in dst.
func update(dst, src *data.Map) {
	for k, v := range src.All() {
		dst.Set(k, v)
	}
}

// merge sets the options of src in dst; maps are merged and lists joined without duplicates
// (salt.utils.dictupdate.update).
func merge(dst, src *data.Map) {
	for k, v := range src.All() {
		switch v := v.(type) {
		case *data.Map:
			if into, ok := dst.Value(k).(*data.Map); ok && into != v {
				merge(into, v)
				continue
			}
		case []any:
			if into, ok := dst.Value(k).([]any); ok {
				dst.Set(k, join(into, v))
				continue
			}
		}
		dst.Set(k, v)
	}
}

func join(a, b []any) []any {
	all := slices.Clone(a)
	for _, v := range b {
		if !slices.ContainsFunc(a, func(have any) bool { return data.Equal(have, v) }) {
			all = append(all, v)
		}
	}
	return all
}
