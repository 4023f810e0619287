//go:build !small || formats

package render

import (
	"context"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/brineproject/brine/data"
)

// TOML is the renderer toml (salt/renderers/tomlmod.py). Keys keep their order; dates are text.
type TOML struct{}

// Name implements Renderer.
func (TOML) Name() string { return "toml" }

// Render implements Renderer.
func (TOML) Render(_ context.Context, s *Step) (any, error) {
	text, err := s.Text()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(text, "#!") {
		_, text, _ = strings.Cut(text, "\n")
	}
	var tree map[string]any
	meta, err := toml.Decode(text, &tree)
	if err != nil {
		return nil, &Error{Message: err.Error(), Err: err}
	}
	o := tomlOrder{}
	for _, key := range meta.Keys() {
		for i := range key {
			o.add(strings.Join(key[:i], "\x00"), key[i])
		}
	}
	return o.value("", tree), nil
}

// A tomlOrder holds the keys of each table in their order.
type tomlOrder map[string]*data.Map

func (o tomlOrder) add(table, key string) {
	if o[table] == nil {
		o[table] = data.NewMap()
	}
	o[table].Set(key, nil)
}

func (o tomlOrder) value(path string, v any) any {
	below := func(key string) string {
		if path == "" {
			return key
		}
		return path + "\x00" + key
	}
	switch v := v.(type) {
	case map[string]any:
		m := data.NewMap()
		for k := range o[path].All() {
			name := k.(string)
			if item, ok := v[name]; ok {
				m.Set(name, o.value(below(name), item))
			}
		}
		return m
	case []map[string]any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = o.value(path, v[i])
		}
		return list
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = o.value(path, v[i])
		}
		return list
	case int64, float64, string, bool:
		return v
	}
	return tomlText(v)
}

// tomlText returns a date or time as Python prints it.
func tomlText(v any) string {
	t, ok := v.(time.Time)
	if !ok {
		return data.Str(v)
	}
	switch t.Location().String() {
	case "date-local":
		return t.Format("2006-01-02")
	case "time-local":
		return t.Format("15:04:05.999999")
	case "datetime-local":
		return t.Format("2006-01-02 15:04:05.999999")
	}
	return t.Format("2006-01-02 15:04:05.999999-07:00")
}
