package yaml

import (
	"fmt"
	"math"
)

// A Flow selects between a: [1, 2] and block lines.
type Flow int

// Block uses flow style only for empty collections, Always uses it always, and Leaves uses it for
// collections that contain only plain scalars. They are PyYAML's default_flow_style False, True and
// None; Salt's own default is Leaves.
const (
	Block Flow = iota
	Always
	Leaves
)

// DumpOptions are the parameters of PyYAML's dump that Salt uses.
type DumpOptions struct {
	Flow Flow
	// except those of Ordered maps, as Salt's representers do; mixed keys stay as they are
	SortKeys      bool
	SortOrdered   bool // with SortKeys, sort those too, as PyYAML does
	Indent        int  // columns per level, 2 to 9; else 2
	Width         int  // column to fold at; 0 means 80, negative never folds
	EscapeUnicode bool // write everything but ASCII as escapes: allow_unicode False
	ExplicitStart bool // begin with ---
	ExplicitEnd   bool // end with ...
	Copies        bool // write a value that occurs several times each time, without anchors
}

// maxDumpDepth is the deepest nesting that Dump writes.
const maxDumpDepth = 1000

// Dump returns v as one YAML document: PyYAML's safe_dump on libyaml, with Salt's representers
// (yamldumper.py). A list or map that occurs several times, or contains itself, gets an anchor. It
// fails for a value that package data does not have, and for nesting of more than 1000 levels.
func Dump(v any, o DumpOptions) ([]byte, error) {
	r := &representer{options: o, made: map[identity]*out{}}
	root, err := r.node(v, 0)
	if err != nil {
		return nil, fmt.Errorf("dump yaml: %w", err)
	}
	r.anchor(root)
	e := newEmitter(o)
	e.document(root)
	return e.buf, nil
}

func newEmitter(o DumpOptions) *emitter {
	e := &emitter{
		start: o.ExplicitStart, end: o.ExplicitEnd, ascii: o.EscapeUnicode,
		step: 2, width: 80, indent: -1, whitespace: true, indention: true,
	}
	if o.Indent >= 2 && o.Indent <= 9 {
		e.step = o.Indent
	}
	switch {
	case o.Width < 0:
		e.width = math.MaxInt
	case o.Width > 2*e.step:
		e.width = o.Width
	}
	return e
}
