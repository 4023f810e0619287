package file

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/difflib"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

type appendArgs struct {
	Name             string
	Text             any  `default:"None"`
	Makedirs         bool `default:"False"`
	Source           any  `default:"None"`
	SourceHash       any  `default:"None"`
	Template         any  `default:"'jinja'"`
	Sources          any  `default:"None"`
	SourceHashes     any  `default:"None"`
	Defaults         any  `default:"None"`
	Context          any  `default:"None"`
	IgnoreWhitespace bool `default:"True"`
}

// append appends texts to a file unless it already contains them.
//
// text
//
//	The text, or a list of texts. Each is searched for separately.
//
// source, sources, template, defaults, context
//
//	Other sources of the text, and how they are rendered.
//
// ignore_whitespace
//
//	Ignore differences in white space between the text and the file.
//
//	/etc/motd:
//	  file.append:
//	    - text: |
//	        Thou hadst better eat salt with the Philosophers of Greece.
func (m edits) append(ctx context.Context, a appendArgs) (any, error) {
	t := templates{a.Source, a.SourceHash, a.Template, a.Sources, a.SourceHashes,
		a.Defaults, a.Context}
	e, ret, err := m.startLines(ctx, home(a.Name), a.Text, a.Makedirs, t, "file.append")
	if err != nil || ret != nil {
		return ret, err
	}
	for _, chunk := range e.chunks {
		there, err := m.hasText(ctx, e.name, chunk, a.IgnoreWhitespace)
		if err != nil {
			return nil, err
		}
		if !there {
			e.lines = append(e.lines, bare(difflib.Lines(chunk))...)
		}
	}
	e.before = bare(e.before)
	e.after = slices.Concat(e.before, e.lines)
	e.read = func(lines []string) []string { return bare(lines) }
	return m.add(ctx, e, "file.append", "Appended ", "\n")
}

type prependArgs struct {
	Name         string
	Text         any  `default:"None"`
	Makedirs     bool `default:"False"`
	Source       any  `default:"None"`
	SourceHash   any  `default:"None"`
	Template     any  `default:"'jinja'"`
	Sources      any  `default:"None"`
	SourceHashes any  `default:"None"`
	Defaults     any  `default:"None"`
	Context      any  `default:"None"`
	Header       any  `default:"None"`
}

// prepend inserts texts at the beginning of a file unless it already contains them. The arguments
// are those of file.append.
//
// header
//
//	Insert the texts unless the file begins with them.
//
//	/etc/motd:
//	  file.prepend:
//	    - text: Trust no one unless you have eaten much salt with him.
func (m edits) prepend(ctx context.Context, a prependArgs) (any, error) {
	t := templates{a.Source, a.SourceHash, a.Template, a.Sources, a.SourceHashes,
		a.Defaults, a.Context}
	e, ret, err := m.startLines(ctx, home(a.Name), a.Text, a.Makedirs, t, "file.prepend")
	if err != nil || ret != nil {
		return ret, err
	}
	for _, chunk := range e.chunks {
		if !data.Truth(a.Header) {
			there, err := m.hasText(ctx, e.name, chunk, true)
			if err != nil {
				return nil, err
			}
			if there {
				continue
			}
		}
		e.lines = append(e.lines, bare(difflib.Lines(chunk))...)
	}
	head := bare(e.before[:min(len(e.lines), len(e.before))])
	if data.Truth(a.Header) && strings.Join(head, "\n") == strings.Join(e.lines, "\n") {
		e.lines = nil
	}
	for _, line := range e.lines {
		e.after = append(e.after, line+"\n")
	}
	e.after = append(e.after, e.before...)
	e.read = func(lines []string) []string { return lines }
	return m.add(ctx, e, "file.prepend", "Prepended ", "")
}

// An addition is a file with the texts to add.
type addition struct {
	name          string
	chunks        []string
	before, after []string // lines of the file
	lines         []string // lines to add
	read          func(lines []string) []string
}

// add adds the missing lines with a function of the module. join is the separator for the lines of
// the diff.
func (m edits) add(ctx context.Context, e *addition, fun, did, join string) (change.Result, error) {
	return change.Thing[*addition]{
		Name: e.name,
		Look: func(context.Context) (*addition, error) { return e, nil },
		Wants: func(e *addition) *data.Map {
			if len(e.lines) == 0 {
				return nil
			}
			return m.diffOf(e.name, e.before, e.after, join)
		},
		Apply: func(ctx context.Context, e *addition) error {
			if _, err := m.call(ctx, fun, data.NewMap("args", data.Values(e.lines)),
				e.name); err != nil {
				return change.Raise(err)
			}
			now, err := readLines(e.name)
			e.after = e.read(now)
			return change.Raise(err)
		},
		Changed: func(_, e *addition) *data.Map { return m.diffOf(e.name, e.before, e.after, join) },
		Texts: change.Texts{
			Same:  "File " + e.name + " is in correct state",
			Would: "File " + e.name + " is set to be updated",
			Done:  did + data.Str(int64(len(e.lines))) + " lines",
		},
		Trust: true, // an added text need not match the search expression
	}.Ensure(ctx)
}

// startLines creates the file if it is missing, and reads it and the texts. It returns a result if
// the state ends there.
func (m edits) startLines(
	ctx context.Context, name string, text any, makedirs bool, t templates, word string,
) (*addition, any, error) {
	if name == "" {
		return nil, change.Failed(name, "Must provide name to "+word), nil
	}
	m.warnOfHash(t.source, t.sourceHash)
	if complaint := t.complaint(); complaint != "" {
		return nil, change.Failed(name, complaint), nil
	}
	if complaint := checkFile(name); complaint != "" {
		ret, err := places{m.module}.touched(ctx, touchArgs{Name: name, Makedirs: makedirs})
		if err != nil || change.Test(ctx) {
			return nil, ret, err
		}
		if checkFile(name) != "" {
			return nil, change.Failed(name, complaint), nil
		}
	}
	chunks := texts(text)
	if t.any() {
		list, failed, err := m.contentOf(ctx, t)
		if err != nil || failed != nil {
			return nil, failed, err
		}
		chunks = list
	}
	before, err := readLines(name)
	if err != nil {
		return nil, nil, err
	}
	return &addition{name: name, chunks: chunks, before: before}, nil, nil
}

func bare(lines []string) []string {
	var out []string
	for _, line := range lines {
		out = append(out, difflib.Bare(line))
	}
	return out
}

// hasText reports whether a text is in a file. The text is searched for as a regular expression or,
// with loose, line by line ignoring white space.
func (m edits) hasText(ctx context.Context, name, chunk string, loose bool) (bool, error) {
	expr := chunk
	if loose {
		var err error
		if expr, err = looseExpr(chunk); err != nil {
			return false, err
		}
	}
	return loader.CallAs[bool](ctx, m.env, "file.search", []any{name, expr},
		data.NewMap("multiline", true))
}

// looseExpr returns an expression that matches a text with any white space
// (salt/utils/stringutils.py, build_whitespace_split_regex).
func looseExpr(text string) (string, error) {
	const gap = `(?:[\s]+)?`
	expr := ""
	for _, line := range bare(difflib.Lines(text)) {
		words, err := words(line)
		if err != nil {
			return "", err
		}
		expr += gap
		for i, word := range words {
			if i > 0 {
				expr += gap
			}
			expr += regexp.QuoteMeta(word)
		}
		expr += gap
	}
	return "(?m)^" + expr + "$", nil
}

// words splits a line at white space outside of quotes, like Python's shlex. If a line contains
// only one kind of quotes, it is split using the other kind, so that an apostrophe is an ordinary
// character (salt/utils/stringutils.py, build_whitespace_split_regex).
func words(line string) ([]string, error) {
	quotes := ""
	if strings.Contains(line, "'") && !strings.Contains(line, `'\"`) {
		quotes = `"`
	}
	var out []string
	word, open := "", rune(0)
	for _, r := range line {
		switch {
		case open != 0:
			word += string(r)
			if r == open {
				out, word, open = append(out, word), "", 0
			}
		case strings.ContainsRune(" \t\r\n", r):
			if word != "" {
				out, word = append(out, word), ""
			}
		case word == "" && strings.ContainsRune(quotes, r):
			word, open = string(r), r
		default:
			word += string(r)
		}
	}
	if open != 0 {
		return nil, loader.Exception("ValueError", "No closing quotation")
	}
	if word != "" {
		out = append(out, word)
	}
	return out, nil
}
