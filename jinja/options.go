package jinja

import (
	"cmp"
	"errors"
	"fmt"
)

// Syntax is the part of an environment that determines how source is parsed. The zero value is
// Jinja's own.
type Syntax struct {
	BlockStart, BlockEnd       string // "" is {% and %}
	VariableStart, VariableEnd string // "" is {{ and }}
	CommentStart, CommentEnd   string // "" is {# and #}

	LineStatementPrefix string // "" means that there are no line statements
	LineCommentPrefix   string

	TrimBlocks          bool   // drop the first line break after a block
	LStripBlocks        bool   // drop white space before a block that begins a line
	KeepTrailingNewline bool   // keep the line break at the very end
	NewlineSequence     string // "\n", "\r\n" or "\r"; "" is "\n"
}

func (s Syntax) filled() Syntax {
	s.BlockStart, s.BlockEnd = cmp.Or(s.BlockStart, "{%"), cmp.Or(s.BlockEnd, "%}")
	s.VariableStart, s.VariableEnd = cmp.Or(s.VariableStart, "{{"), cmp.Or(s.VariableEnd, "}}")
	s.CommentStart, s.CommentEnd = cmp.Or(s.CommentStart, "{#"), cmp.Or(s.CommentEnd, "#}")
	s.NewlineSequence = cmp.Or(s.NewlineSequence, "\n")
	return s
}

func (s Syntax) check() error {
	if s.BlockStart == s.VariableStart || s.VariableStart == s.CommentStart ||
		s.BlockStart == s.CommentStart {
		return errors.New("block, variable and comment start strings must be different")
	}
	switch s.NewlineSequence {
	case "\n", "\r\n", "\r":
		return nil
	}
	return fmt.Errorf("newline_sequence %q is not one of '\\n', '\\r\\n', or '\\r'",
		s.NewlineSequence)
}

// Lenience says what a template may do with an undefined name.
type Lenience int

const (
	Lenient   Lenience = iota // print it as nothing, test it, iterate over it (jinja2.Undefined)
	Chainable                 // also take attributes and items of it (ChainableUndefined)
	Debug                     // like Lenient, but it prints as its own source (DebugUndefined)
	Strict                    // only ask whether it is defined (StrictUndefined)
)

// Limits limit one Render. A zero field means its default.
type Limits struct {
	Depth    int // nested macros, blocks, includes and recursive loops; 200
	Output   int // bytes of the text, 64 MiB
	Steps    int // statements run and elements visited, 20 million
	Value    int // bytes of one text and elements of one list, 32 Mi
	Memory   int // bytes of all texts and lists that operators and filters made, 1 GiB
	Source   int // bytes of one source, 16 MiB
	Nesting  int // nested brackets, operators and blocks in source, 200
	Includes int // templates fetched, 10,000
}

func (l Limits) filled() Limits {
	l.Depth = cmp.Or(l.Depth, 200)
	l.Output = cmp.Or(l.Output, 64<<20)
	l.Steps = cmp.Or(l.Steps, 20_000_000)
	l.Value = cmp.Or(l.Value, 32<<20)
	l.Memory = cmp.Or(l.Memory, 1<<30)
	l.Source = cmp.Or(l.Source, 16<<20)
	l.Nesting = cmp.Or(l.Nesting, 200)
	l.Includes = cmp.Or(l.Includes, 10_000)
	return l
}

// Options describe an Environment.
type Options struct {
	Syntax     Syntax
	Undefined  Lenience
	Autoescape bool // escape what is printed for HTML
	// converts each value just before it is printed; nil leaves it as it is
	Finalize func(v any) (any, error)
	Limits   Limits

	Loader Loader // for include, import, from and extends; nil finds nothing
	Cache  *Cache // of parsed templates, which environments may share; nil caches none

	// in addition to Jinja's own, which they replace; the value is the first argument
	Filters map[string]Func
	Tests   map[string]Func
	// names that every template sees, including those imported without context
	Globals map[string]any
	Tags    map[string]Tag // by the name of the tag that begins the statement
}
