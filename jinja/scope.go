package jinja

// Names are resolved before a template runs, by Jinja's own rules (jinja2/idtracking.py), some of
// which are odd. A frame that stores a name anywhere has a variable of that name from its start.
// Its first value is that of the enclosing frame, or of the context if the name is read first or
// stored only in a branch.

// A function has slots for the variables of all frames that run in one activation.
type function struct {
	slots int
	up    *function
}

type symbol struct {
	name    string
	slot    int
	entry   entryKind
	from    ref
	defined bool
	stored  bool
}

// symbols are the variables of one frame.
type symbols struct {
	fn      *function
	up      *symbols
	list    []symbol
	byName  map[string]int // of list, once it is long
	journal *[]change      // of the branch that is being read
	visible *localNames    // computed when first requested
}

// A change of a symbol within a branch.
type change struct {
	index  int
	stored bool // otherwise: defined
}

func newSymbols(fn *function, up *symbols) *symbols { return &symbols{fn: fn, up: up} }

// inner returns a frame within the same function.
func (s *symbols) inner() *symbols { return newSymbols(s.fn, s) }

// function returns the frame of a new function within s.
func (s *symbols) function() *symbols { return newSymbols(&function{up: s.fn}, s) }

const mapFrom = 16

// index returns the position of a name in the list, defined or not, or -1.
func (s *symbols) index(name string) int {
	if s.byName != nil {
		if i, ok := s.byName[name]; ok {
			return i
		}
		return -1
	}
	for i := range s.list {
		if s.list[i].name == name {
			return i
		}
	}
	return -1
}

func (s *symbols) find(name string) (ref, bool) {
	hops := 0
	for at := s; at != nil; at = at.up {
		if i := at.index(name); i >= 0 && at.list[i].defined {
			return ref{hops, at.list[i].slot}, true
		}
		if at.up != nil && at.up.fn != at.fn {
			hops++
		}
	}
	return ref{}, false
}

// outer finds a name in the enclosing frames, as seen from s.
func (s *symbols) outer(name string) (ref, bool) {
	if s.up == nil {
		return ref{}, false
	}
	r, ok := s.up.find(name)
	if s.up.fn != s.fn {
		r.hops++
	}
	return r, ok
}

func (s *symbols) define(name string, entry entryKind, from ref) int {
	i := s.index(name)
	if i < 0 {
		i = len(s.list)
		s.list = append(s.list, symbol{name: name, slot: s.fn.slots})
		s.fn.slots++
		s.remember(name, i)
	}
	sym := &s.list[i]
	sym.entry, sym.from = entry, from
	if !sym.defined {
		sym.defined = true
		s.note(change{i, false})
	}
	return i
}

func (s *symbols) remember(name string, i int) {
	switch {
	case s.byName != nil:
		s.byName[name] = i
	case len(s.list) > mapFrom:
		s.byName = make(map[string]int, 2*mapFrom)
		for i := range s.list {
			s.byName[s.list[i].name] = i
		}
	}
}

func (s *symbols) note(c change) {
	if s.journal != nil {
		*s.journal = append(*s.journal, c)
	}
}

func (s *symbols) markStored(i int) {
	if !s.list[i].stored {
		s.list[i].stored = true
		s.note(change{i, true})
	}
}

func (s *symbols) load(name string) {
	if _, ok := s.find(name); !ok {
		s.define(name, entryResolve, ref{})
	}
}

func (s *symbols) store(name string) {
	i := s.index(name)
	if i < 0 || !s.list[i].defined {
		if from, ok := s.outer(name); ok {
			i = s.define(name, entryAlias, from)
		} else {
			i = s.define(name, entryUndefined, ref{})
		}
	}
	s.markStored(i)
}

// param declares a name whose value is set by the caller, and returns its slot.
func (s *symbols) param(name string) int {
	i := s.define(name, entryParam, ref{})
	s.markStored(i)
	return s.list[i].slot
}

// branches reads the branches of an if, each independently of the others, and then joins their
// stored names.
func (s *symbols) branches(visits ...func()) {
	outside := s.journal
	var all []change
	times := map[int]int{}
	for _, visit := range visits {
		var journal []change
		s.journal = &journal
		visit()
		for _, c := range journal {
			if c.stored {
				s.list[c.index].stored = false
				times[c.index]++
			} else {
				s.list[c.index].defined = false
			}
		}
		all = append(all, journal...)
	}
	s.journal = outside
	for _, c := range all {
		s.list[c.index].defined = true
		if c.stored {
			s.markStored(c.index)
		} else {
			s.note(c)
		}
	}
	for i, n := range times {
		if n < len(visits) {
			s.joinPartial(i)
		}
	}
}

// joinPartial handles a name that not all branches store: it begins with its outer value.
func (s *symbols) joinPartial(i int) {
	sym := &s.list[i]
	if from, ok := s.outer(sym.name); ok {
		sym.entry, sym.from = entryAlias, from
		return
	}
	sym.entry = entryResolve
}

// entries returns the actions for entering the frame.
func (s *symbols) entries() []entry {
	var out []entry
	for _, sym := range s.list {
		if sym.entry != entryParam {
			out = append(out, entry{sym.slot, sym.entry, sym.from, sym.name})
		}
	}
	return out
}

// locals returns the names stored in s and its enclosing frames; s must be complete.
func (s *symbols) locals() *localNames {
	if s == nil || s.visible != nil {
		return s.known()
	}
	l := &localNames{up: s.up.locals()}
	if s.up != nil && s.up.fn != s.fn {
		l.hops = 1
	}
	for _, sym := range s.list {
		if sym.stored {
			l.own = append(l.own, local{sym.name, sym.slot})
		}
	}
	s.visible = l
	return l
}

func (s *symbols) known() *localNames {
	if s == nil {
		return nil
	}
	return s.visible
}
