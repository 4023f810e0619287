package loader

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
)

// A shape is what the struct of a function's arguments says.
type shape struct {
	spec   Spec
	fields []int // field of the struct for each parameter
	args   int   // field of *args, or -1
	kwargs int   // field of **kwargs, or -1
}

// shapeOf reads the fields and tags of a struct.
func shapeOf(t reflect.Type) (*shape, error) {
	s := &shape{args: -1, kwargs: -1}
	if t.Kind() != reflect.Struct {
		return s, fmt.Errorf("arguments %s: not a struct", t)
	}
	for i := range t.NumField() {
		if err := s.field(t.Field(i), i); err != nil {
			return s, fmt.Errorf("arguments %s, field %s: %w", t, t.Field(i).Name, err)
		}
	}
	return s, nil
}

func (s *shape) field(f reflect.StructField, i int) error {
	if name, ok := f.Tag.Lookup("args"); ok {
		s.args, s.spec.Args = i, name
		return wantType(f, reflect.TypeFor[[]any]())
	}
	if name, ok := f.Tag.Lookup("kwargs"); ok {
		s.kwargs, s.spec.Kwargs = i, name
		return wantType(f, reflect.TypeFor[*data.Map]())
	}
	if names, ok := f.Tag.Lookup("only"); ok {
		s.kwargs, s.spec.KeywordOnly = i, strings.Split(names, ",")
		return wantType(f, reflect.TypeFor[*data.Map]())
	}
	return s.param(f, i)
}

func (s *shape) param(f reflect.StructField, i int) error {
	if !convertible(f.Type) {
		return fmt.Errorf("type %s is none that arguments have", f.Type)
	}
	p := Param{Name: f.Tag.Get("name"), Required: true}
	if p.Name == "" {
		p.Name = ArgumentName(f.Name)
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		v, err := literal(text)
		if err != nil {
			return fmt.Errorf("default %s: %w", text, err)
		}
		p.Required, p.Default = false, v
	} else if n := len(s.spec.Params); n > 0 && !s.spec.Params[n-1].Required {
		return fmt.Errorf("has no default, but one before it has")
	}
	s.spec.Params = append(s.spec.Params, p)
	s.fields = append(s.fields, i)
	return nil
}

func wantType(f reflect.StructField, t reflect.Type) error {
	if f.Type != t {
		return fmt.Errorf("is a %s, not a %s", f.Type, t)
	}
	return nil
}

// ArgumentName returns the name of the argument that a field of an argument struct is, unless its tag has another: DryRun is dry_run, URLPath is
// url_path.
func ArgumentName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// fill puts the arguments of a call into the struct v.
func (s *shape) fill(v reflect.Value, b *Bound) error {
	for i, field := range s.fields {
		if err := convert(v.Field(field), b.Values[i]); err != nil {
			return err
		}
	}
	if s.args >= 0 {
		v.Field(s.args).Set(reflect.ValueOf(b.Args))
	}
	if s.kwargs >= 0 {
		v.Field(s.kwargs).Set(reflect.ValueOf(b.Kwargs))
	}
	return nil
}
