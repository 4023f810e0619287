package saltclass

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/jinja"
)

// merge merges b into a, and changes both (dict_merge). A list in b that begins with ^ loses that
// and replaces the one in a; other lists are appended to it. The error reports a list that grows
// too long, for example one that is joined with itself under many keys.
func merge(a, b *data.Map) error {
	for key, over := range b.All() {
		below, has := a.Get(key)
		if !has {
			a.Set(key, over)
			continue
		}
		if l, ok := over.(*jinja.List); ok {
			if into, both := below.(*jinja.List); both {
				if len(l.Items) > 0 && l.Items[0] == "^" {
					l.Items = slices.Clone(l.Items[1:])
					a.Set(key, l)
				} else if into.Items = append(slices.Clip(into.Items),
					l.Items...); len(into.Items) > maxList {
					return fmt.Errorf("the list %s has more than %d elements",
						data.Str(key), maxList)
				}
				continue
			}
		}
		if m, ok := over.(*data.Map); ok {
			if into, both := below.(*data.Map); both {
				if err := merge(into, m); err != nil {
					return err
				}
				continue
			}
		}
		a.Set(key, over)
	}
	return nil
}

// variable matches ${a:b} with the character before it.
var variable = regexp.MustCompile(`(?:^|.)\$\{.*?\}`)

// An expansion replaces variables within one dictionary.
type expansion struct {
	ctx  context.Context
	root *data.Map
}

// expandVariables replaces variables ${a:b} by their values; \${a:b} only loses its backslash
// (expand_variables).
func expandVariables(ctx context.Context, m *data.Map) (*data.Map, error) {
	if m == nil {
		return data.NewMap(), nil
	}
	e := &expansion{ctx, m.Clone()}
	return e.root, e.dict(m)
}

func (e *expansion) dict(m *data.Map) error {
	for _, v := range m.All() {
		var err error
		switch v := v.(type) {
		case *data.Map:
			err = e.dict(v)
		case *jinja.List:
			err = e.list(v)
		case string:
			err = e.text(v, true)
		}
		if err != nil {
			return err
		}
	}
	return e.ctx.Err()
}

func (e *expansion) list(l *jinja.List) error {
	for i := 0; i < len(l.Items); i++ {
		var err error
		switch v := l.Items[i].(type) {
		case *data.Map:
			err = e.dict(v)
		case string:
			err = e.text(v, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// text replaces the variables of one text wherever that text occurs (find_and_process_re). As in
// Salt it works with two texts: the one to search for and, if the text is not an element of a list,
// the one that results.
func (e *expansion) text(text string, alone bool) error {
	value := text
	for _, found := range variable.FindAllString(text, -1) {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		if strings.HasPrefix(found, `\`) {
			e.replace(e.root, text, strings.ReplaceAll(text, found, strings.TrimLeft(found, `\`)))
			continue
		}
		first := strings.HasPrefix(found, "$")
		if !first {
			_, rest, _ := strings.Cut(found, "${")
			found = "${" + rest
		}
		v, err := e.value(found)
		if err != nil {
			return err
		}
		in := text
		if first && alone {
			in = value
		}
		made := strings.ReplaceAll(in, found, v)
		e.replace(e.root, text, made)
		text = made
		if first {
			value = made
		}
	}
	return nil
}

// value returns the value of a variable, or the variable itself if it has none
// (find_value_to_expand).
func (e *expansion) value(name string) (string, error) {
	var at any = e.root
	for part := range strings.SplitSeq(name[2:len(name)-1], ":") {
		if at == nil {
			return name, nil
		}
		m, ok := at.(*data.Map)
		if !ok {
			return "", fmt.Errorf("the variable %s leads into a value that is not a dictionary",
				name)
		}
		if !m.Has(part) {
			return name, nil
		}
		at = m.Value(part)
	}
	s, ok := at.(string)
	if !ok {
		return "", fmt.Errorf("the value of the variable %s is not a text", name)
	}
	return s, nil
}

// replace replaces a text by another wherever it is a value or an element
// (dict_search_and_replace).
func (e *expansion) replace(m *data.Map, old, made string) {
	for k, v := range m.All() {
		switch v := v.(type) {
		case *data.Map:
			e.replace(v, old, made)
		case *jinja.List:
			for i, item := range v.Items {
				if below, ok := item.(*data.Map); ok {
					e.replace(below, old, made)
				}
				if item == old {
					v.Items[i] = made
				}
			}
		case string:
			if v == old {
				m.Set(k, made)
			}
		}
	}
}
