package jinja

import (
	"errors"

	"github.com/brineproject/brine/data"
)

func (s *forStmt) exec(f *frame) error {
	f.line = s.line
	v, err := s.iter.eval(f)
	if err != nil {
		return err
	}
	if !s.recursive {
		return s.loopOver(f, v, nil, 0)
	}
	text, err := s.recurse(f, v, 0)
	if err != nil {
		return err
	}
	return f.printRaw(text)
}

// recurse runs a recursive loop over v and returns its output.
func (s *forStmt) recurse(f *frame, v any, depth int) (any, error) {
	out := f.run.newBuffer()
	in := f.within(s.slots, out)
	in.line = s.line
	err := in.run.deeper()
	if err == nil {
		err = s.loopOver(in, v, func(inner any, depth int) (any, error) { return s.recurse(f, inner, depth) }, depth)
	}
	f.run.depth--
	text, full := f.run.release(out)
	if err != nil {
		return nil, in.leave(err)
	}
	return f.markup(text), full
}

// loopOver runs the body for each element of v.
func (s *forStmt) loopOver(f *frame, v any, again recursion, depth int) error {
	it, err := f.run.iterate(v)
	if err != nil {
		return err
	}
	if s.test != nil {
		it = &filtered{it: it, keep: func(v any) (bool, error) { return s.passes(f, v) }}
	}
	var lc *loopContext
	if s.loop >= 0 {
		lc = &loopContext{run: f.run, it: it, depth0: depth, index0: -1, recurse: again,
			after: missing{}, current: missing{}, changed: missing{}}
		if s.test == nil {
			lc.of = v
		}
	}
	none, err := s.elements(f, it, lc)
	if err != nil {
		return err
	}
	if none && s.orElse != nil {
		return f.enterAndRun(s.orElse)
	}
	return nil
}

// elements runs the body and reports whether it never completed, in which case the else branch
// runs.
func (s *forStmt) elements(f *frame, it Iterator, lc *loopContext) (none bool, err error) {
	none = true
	for {
		f.line = s.line
		v, ok, err := s.next(it, lc)
		if err != nil || !ok {
			return none, err
		}
		if err := f.run.step(); err != nil {
			return none, err
		}
		if lc != nil {
			f.slots[s.loop] = lc
		}
		if err := f.assign(s.target, v); err != nil {
			return none, err
		}
		f.enter(s.body.entry)
		if err := f.exec(s.body.stmts); err != nil {
			var j jump
			if !errors.As(err, &j) {
				return none, err
			}
			if !j.again {
				return none, nil
			}
			continue
		}
		none = false
	}
}

func (s *forStmt) next(it Iterator, lc *loopContext) (any, bool, error) {
	if lc != nil {
		return lc.next()
	}
	return it.Next()
}

// passes checks an element against the condition of the loop.
func (s *forStmt) passes(f *frame, v any) (bool, error) {
	f.enter(s.testEntry)
	if err := f.assign(s.testGoal, v); err != nil {
		return false, err
	}
	line := f.line
	f.line = s.test.lineno()
	ok, err := evalTruth(f, s.test)
	if err == nil {
		f.line = line
	}
	return ok, err
}

// filtered yields the elements that pass the condition.
type filtered struct {
	it   Iterator
	keep func(any) (bool, error)
}

func (i *filtered) Next() (any, bool, error) {
	for {
		v, ok, err := i.it.Next()
		if err != nil || !ok {
			return nil, false, err
		}
		keep, err := i.keep(v)
		if err != nil {
			return nil, false, err
		}
		if keep {
			return v, true, nil
		}
	}
}

// A recursion runs the loop again for the children of an element.
type recursion func(v any, depth int) (any, error)

// A loopContext is the variable loop (jinja2.runtime.LoopContext).
type loopContext struct {
	run     *run
	of      any // the looped value, if its length may be requested
	it      Iterator
	depth0  int
	index0  int
	length  int
	counted bool
	before  any
	current any
	after   any // read ahead; missing if nothing was, or there is nothing
	changed any
	recurse recursion
}

func (l *loopContext) next() (any, bool, error) {
	v, ok, err := l.after, true, error(nil)
	if isMissing(v) {
		v, ok, err = l.it.Next()
	}
	l.after = missing{}
	if err != nil || !ok {
		return nil, false, err
	}
	l.index0++
	l.before, l.current = l.current, v
	return v, true, nil
}

func (l *loopContext) peek() error {
	if !isMissing(l.after) {
		return nil
	}
	v, ok, err := l.it.Next()
	if err == nil && ok {
		l.after = v
	}
	return err
}

// size counts the elements. It reads all of them if the value has no length.
func (l *loopContext) size() (int, error) {
	if l.counted {
		return l.length, nil
	}
	if n, ok := lengthOf(l.of); ok {
		l.length, l.counted = n, true
		return n, nil
	}
	rest, err := l.run.drain(l.it)
	if err != nil {
		return 0, err
	}
	l.it = &sliceIterator{items: rest}
	l.length = len(rest) + l.index0 + 1
	if !isMissing(l.after) {
		l.length++
	}
	l.counted = true
	return l.length, nil
}

// Attr implements Attributer.
func (l *loopContext) Attr(name string) (any, bool, error) {
	switch name {
	case "index":
		return int64(l.index0 + 1), true, nil
	case "index0":
		return int64(l.index0), true, nil
	case "first":
		return l.index0 == 0, true, nil
	case "last":
		err := l.peek()
		return isMissing(l.after), true, err
	case "depth":
		return int64(l.depth0 + 1), true, nil
	case "depth0":
		return int64(l.depth0), true, nil
	case "length":
		n, err := l.size()
		return int64(n), true, err
	case "revindex":
		n, err := l.size()
		return int64(n - l.index0), true, err
	case "revindex0":
		n, err := l.size()
		return int64(n - l.index0 - 1), true, err
	}
	return l.neighbour(name)
}

func (l *loopContext) neighbour(name string) (any, bool, error) {
	switch name {
	case "previtem":
		if l.index0 == 0 {
			return l.run.hint("there is no previous item"), true, nil
		}
		return l.before, true, nil
	case "nextitem":
		if err := l.peek(); err != nil {
			return nil, true, err
		}
		if isMissing(l.after) {
			return l.run.hint("there is no next item"), true, nil
		}
		return l.after, true, nil
	case "cycle":
		return &builtin{name: "cycle", fn: l.cycle}, true, nil
	case "changed":
		return &builtin{name: "changed", fn: l.isChanged}, true, nil
	}
	return nil, false, nil
}

func (l *loopContext) cycle(c *Call) (any, error) {
	if len(c.Args) == 0 {
		return nil, Raise(TypeError, "no items for cycling given")
	}
	return c.Args[l.index0%len(c.Args)], nil
}

func (l *loopContext) isChanged(c *Call) (any, error) {
	now := data.Tuple(append([]any{}, c.Args...))
	if !isMissing(l.changed) {
		same, err := l.run.equal(l.changed, now)
		if err != nil || same {
			return false, err
		}
	}
	l.changed = now
	return true, nil
}

// Call runs a recursive loop over its argument.
func (l *loopContext) Call(c *Call) (any, error) {
	args, err := c.bind(signature{name: "LoopContext.__call__", hidden: 1,
		params: []param{need("iterable")}})
	if err != nil {
		return nil, err
	}
	if l.recurse == nil {
		return nil, Raise(TypeError, "The loop must have the 'recursive' marker to be called recursively.")
	}
	return l.recurse(args[0], l.depth0+1)
}

// Len implements Sized.
func (l *loopContext) Len() int {
	n, _ := l.size()
	return n
}

// TypeName implements Namer.
func (l *loopContext) TypeName() string { return "jinja2.runtime.LoopContext" }

// Text implements Texter.
func (l *loopContext) Text() string {
	n, _ := l.size()
	return "<LoopContext " + itoa(l.index0+1) + "/" + itoa(n) + ">"
}

// Iterate implements Iterable.
func (l *loopContext) Iterate() Iterator {
	return iteratorFunc(func() (any, bool, error) {
		v, ok, err := l.next()
		return data.Tuple{v, l}, ok, err
	})
}
