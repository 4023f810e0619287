package match

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxProgram is the maximum size of a compiled regular expression, in instructions before
// simplification.
const maxProgram = 100_000

// A Regexp is a regular expression of Python's re module, matched in linear time. It is safe for
// concurrent use.
//
// It differs from Python in this: back-references, conditionals, atomic groups, possessive
// quantifiers and \N{…} are rejected; repeat counts go up to 1000; \b and \B only recognize ASCII
// words.
type Regexp struct {
	re      *regexp.Regexp // nil if there are assertions
	asserts *program
}

// CompileRegexp compiles an expression. Errors for expressions that only Python accepts wrap
// ErrUnsupported.
func CompileRegexp(expr string) (*Regexp, error) {
	if len(expr) > MaxLength {
		return nil, fmt.Errorf("regular expression: %w: %d bytes", ErrTooBig, len(expr))
	}
	t, err := translate(expr)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", clip(expr), err)
	}
	r, err := t.build()
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", clip(expr), err)
	}
	return r, nil
}

// build compiles the translation with the standard library, or for the engine that supports
// assertions.
func (t *translation) build() (*Regexp, error) {
	tree, err := parseBounded(t.text)
	if err != nil {
		return nil, err
	}
	if len(t.asserts) > 0 {
		p, err := newProgram(tree, t.asserts)
		return &Regexp{asserts: p}, err
	}
	re, err := regexp.Compile(`\A(?:` + t.text + `)`)
	if err != nil {
		return nil, syntaxError(err)
	}
	return &Regexp{re: re}, nil
}

// Match reports whether the expression matches at the start of s, as Python's re.match does.
func (r *Regexp) Match(s string) bool {
	if r.re != nil {
		return r.re.MatchString(s)
	}
	return r.asserts.match(s)
}

// parseBounded parses an expression and rejects it if its program would be large.
func parseBounded(text string) (*syntax.Regexp, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, syntaxError(err)
	}
	if programSize(tree) > maxProgram {
		return nil, fmt.Errorf("%w: its repeats multiply", ErrTooBig)
	}
	return tree, nil
}

func syntaxError(err error) error {
	return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
}

// programSize estimates the instructions of a tree; it stops counting above the limit.
func programSize(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		if n += programSize(sub); n > maxProgram {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

// unsupported reports whether err rejects an expression that Python accepts.
func unsupported(err error) bool {
	return errors.Is(err, ErrUnsupported) || errors.Is(err, ErrTooBig)
}
