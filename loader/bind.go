package loader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// def returns the function's name for Python's error texts.
func (s *Spec) def() string {
	if s.Def != "" {
		return s.Def
	}
	return s.Name
}

// Has reports whether the function has a parameter with that name.
func (s *Spec) Has(name any) bool { return s.index(name) >= 0 }

func (s *Spec) index(name any) int {
	for i := range s.Params {
		if s.Params[i].Name == name {
			return i
		}
	}
	return -1
}

// Takes reports whether name can be passed by keyword.
func (s *Spec) Takes(name any) bool { return s.Kwargs != "" || s.Has(name) }

// Bind assigns arguments to parameters like a Python call. The error is Python's TypeError.
func (s *Spec) Bind(args []any, kwargs *data.Map) (*Bound, error) {
	b := &Bound{Values: make([]any, len(s.Params)), Args: []any{}, Kwargs: &data.Map{}}
	set := make([]bool, len(s.Params))
	for i := range min(len(args), len(s.Params)) {
		b.Values[i], set[i] = args[i], true
	}
	if err := s.bindKeywords(b, set, kwargs); err != nil {
		return nil, err
	}
	if len(args) > len(s.Params) {
		if s.Args == "" {
			return nil, s.tooMany(len(args))
		}
		b.Args = args[len(s.Params):]
	}
	return b, s.defaults(b, set)
}

func (s *Spec) bindKeywords(b *Bound, set []bool, kwargs *data.Map) error {
	for k, v := range kwargs.All() {
		name, ok := k.(string)
		if !ok {
			return TypeError("keywords must be strings")
		}
		i := s.index(name)
		switch {
		case i < 0 && s.Kwargs == "" && !slices.Contains(s.KeywordOnly, name):
			return TypeError("%s() got an unexpected keyword argument '%s'", s.def(), name)
		case i < 0:
			b.Kwargs.Set(name, v)
		case set[i]:
			return TypeError("%s() got multiple values for argument '%s'", s.def(), name)
		default:
			b.Values[i], set[i] = v, true
		}
	}
	return nil
}

func (s *Spec) tooMany(given int) error {
	required := 0
	for _, p := range s.Params {
		if p.Required {
			required++
		}
	}
	takes, plural, was := fmt.Sprint(len(s.Params)), "s", "were"
	if required < len(s.Params) {
		takes = fmt.Sprintf("from %d to %d", required, len(s.Params))
	} else if required == 1 {
		plural = ""
	}
	if given == 1 {
		was = "was"
	}
	return TypeError("%s() takes %s positional argument%s but %d %s given", s.def(), takes,
		plural, given, was)
}

// defaults fills in the defaults of unset parameters. Each default is cloned, since the function
// may modify it.
func (s *Spec) defaults(b *Bound, set []bool) error {
	var missing []string
	for i, p := range s.Params {
		switch {
		case set[i]:
		case p.Required:
			missing = append(missing, "'"+p.Name+"'")
		default:
			b.Values[i] = data.Clone(p.Default)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	plural := "s"
	if len(missing) == 1 {
		plural = ""
	}
	return TypeError("%s() missing %d required positional argument%s: %s", s.def(), len(missing),
		plural, enumerate(missing))
}

// enumerate joins names like Python: a; a and b; a, b, and c.
func enumerate(names []string) string {
	switch n := len(names); n {
	case 1:
		return names[0]
	case 2:
		return names[0] + " and " + names[1]
	default:
		return strings.Join(names[:n-1], ", ") + ", and " + names[n-1]
	}
}

// Split splits the arguments of a publication into positional and keyword arguments, like
// load_args_and_kwargs of salt/minion.py. Keyword arguments are maps with __kwarg__ and strings of
// the form name=value. pub holds the fields of the publication for **kwargs; it may be nil. A
// keyword that the function does not take is an invocation error.
func (s *Spec) Split(arg []any, pub *data.Map) (args []any, kwargs *data.Map, err error) {
	kwargs = &data.Map{}
	unknown := &data.Map{}
	for _, a := range arg {
		words, ok := keywords(a)
		if !ok {
			args = append(args, unmark(a))
			continue
		}
		for k, v := range words.All() {
			if s.Takes(k) {
				kwargs.Set(k, v)
			} else {
				unknown.Set(k, v)
			}
		}
	}
	if err := Unknown(unknown); err != nil {
		return nil, nil, err
	}
	if s.Kwargs != "" {
		for k, v := range pub.All() {
			kwargs.Set("__pub_"+data.Str(k), pubField(k, v))
		}
	}
	return args, kwargs, nil
}

// keywords returns the keyword arguments in one argument. ok is false if it is positional.
func keywords(a any) (words *data.Map, ok bool) {
	switch a := a.(type) {
	case *data.Map:
		if !isKeywords(a) {
			return nil, false
		}
		return unmark(a).(*data.Map), true
	case string:
		if name, value, ok := ParseKwarg(a); ok {
			return data.NewMap(name, YAMLArg(value)), true
		}
	}
	return nil, false
}

// isKeywords reports whether an argument is a map of keyword arguments.
func isKeywords(a any) bool {
	m, _ := a.(*data.Map)
	return m.Value(kwargMark) == true
}

// unmark returns a map without the key __kwarg__, and other arguments unchanged.
func unmark(a any) any {
	m, ok := a.(*data.Map)
	if !ok || !m.Has(kwargMark) {
		return a
	}
	c := m.Clone()
	c.Delete(kwargMark)
	return c
}

// pubField returns a field of the publication as functions see it. Maps of keyword arguments keep
// their mark; a mark that is not True is removed, as Salt 3006.18 does in place.
func pubField(field, v any) any {
	list, ok := v.([]any)
	if field != "arg" || !ok {
		return v
	}
	clean := make([]any, len(list))
	for i, a := range list {
		if clean[i] = a; !isKeywords(a) {
			clean[i] = unmark(a)
		}
	}
	return clean
}
