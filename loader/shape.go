package loader

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/brineproject/brine/data"
)

// A shape describes the argument struct of a function. Fields are identified by index paths for
// reflect.Value.FieldByIndex; the path of a field in an embedded struct has several elements.
type shape struct {
	spec   Spec
	fields [][]int // path of each parameter's field
	args   []int   // path of the field for *args, or nil
	kwargs []int   // path of the field for **kwargs, or nil
}

// shapeOf returns the shape of a struct type from its fields and tags.
func shapeOf(t reflect.Type) (*shape, error) {
	s := &shape{}
	if t.Kind() != reflect.Struct {
		return s, fmt.Errorf("arguments %s: not a struct", t)
	}
	return s, s.embed(t, nil)
}

// embed adds the fields of a struct at the path at.
func (s *shape) embed(t reflect.Type, at []int) error {
	for i := range t.NumField() {
		if err := s.field(t.Field(i), append(slices.Clip(at), i)); err != nil {
			return fmt.Errorf("arguments %s, field %s: %w", t, t.Field(i).Name, err)
		}
	}
	return nil
}

func (s *shape) field(f reflect.StructField, at []int) error {
	if f.Anonymous && f.Type.Kind() == reflect.Struct {
		return s.embed(f.Type, at)
	}
	if name, ok := f.Tag.Lookup("args"); ok {
		s.spec.Args = name
		return rest(f, at, &s.args, reflect.TypeFor[[]any]())
	}
	if name, ok := f.Tag.Lookup("kwargs"); ok {
		s.spec.Kwargs = name
		return rest(f, at, &s.kwargs, reflect.TypeFor[*data.Map]())
	}
	if names, ok := f.Tag.Lookup("only"); ok {
		s.spec.KeywordOnly = strings.Split(names, ",")
		return rest(f, at, &s.kwargs, reflect.TypeFor[*data.Map]())
	}
	return s.param(f, at)
}

// rest records the field for *args or **kwargs. At most one field may take each.
func rest(f reflect.StructField, at []int, field *[]int, t reflect.Type) error {
	switch {
	case f.Type != t:
		return fmt.Errorf("is a %s, not a %s", f.Type, t)
	case *field != nil:
		return errors.New("a second field with this tag")
	}
	*field = at
	return nil
}

func (s *shape) param(f reflect.StructField, at []int) error {
	if !convertible(f.Type) {
		return fmt.Errorf("unsupported type %s", f.Type)
	}
	p := Param{Name: f.Tag.Get("name"), Required: true}
	if p.Name == "" {
		p.Name = ArgumentName(f.Name)
	}
	if s.spec.Has(p.Name) {
		return fmt.Errorf("duplicate parameter %s", p.Name)
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		v, err := literal(text)
		if err != nil {
			return fmt.Errorf("default %s: %w", text, err)
		}
		p.Required, p.Default = false, v
	} else if n := len(s.spec.Params); n > 0 && !s.spec.Params[n-1].Required {
		return fmt.Errorf("required parameter after one with a default")
	}
	s.spec.Params = append(s.spec.Params, p)
	s.fields = append(s.fields, at)
	return nil
}

// ArgumentName returns the parameter name of a field whose tag does not set one: dry_run for
// DryRun, url_path for URLPath.
func ArgumentName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// fill sets the fields of the struct v to the arguments of a call.
func (s *shape) fill(v reflect.Value, b *Bound) error {
	for i, field := range s.fields {
		if err := convert(v.FieldByIndex(field), b.Values[i]); err != nil {
			return err
		}
	}
	if s.args != nil {
		v.FieldByIndex(s.args).Set(reflect.ValueOf(b.Args))
	}
	if s.kwargs != nil {
		v.FieldByIndex(s.kwargs).Set(reflect.ValueOf(b.Kwargs))
	}
	return nil
}
