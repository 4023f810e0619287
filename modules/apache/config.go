package apache

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
)

type configArgs struct {
	Name   string
	Config []any
	Edit   any `default:"True"`
}

// config writes a configuration to a file, and returns its text.
//
// config
//
//	A list of dictionaries of one directive or section each. A section is a dictionary, or a list of
//	dictionaries, with what follows its name under the key this.
//
// edit
//
//	False: only return the text.
//
// CLI Example:
//
//	salt '*' apache.config /etc/httpd/conf.d/ports.conf config="[{'Listen': '22'}]"
func (m *module) config(_ context.Context, a configArgs) (any, error) {
	texts := make([]string, len(a.Config))
	for i, v := range a.Config {
		entry, ok := v.(*data.Map)
		if !ok || entry.Len() == 0 {
			return nil, loader.Execution("each item of the configuration must be a dictionary, not %s", data.Repr(v))
		}
		for key, value := range entry.All() {
			text, err := section(value, data.Str(key))
			if err != nil {
				return nil, err
			}
			texts[i] = text
			break
		}
	}
	text := strings.Join(texts, "\n")
	if !data.Truth(a.Edit) {
		return text, nil
	}
	file := a.Name
	err := atomicfile.Write(file, []byte("# This file is managed by Salt.\n"+text),
		atomicfile.Options{Follow: true, Mode: 0o644, KeepMode: true})
	return text, loader.OSError(err)
}

const attribute = "this"

// section returns the text of a directive or a section (_parse_config).
func section(v any, slot string) (string, error) {
	switch v := v.(type) {
	case *data.Map:
		return dictionary(v, slot)
	case []any:
		return list(v, slot)
	case nil:
		return "", nil
	}
	return slot + " " + data.Str(v), nil
}

func dictionary(v *data.Map, slot string) (string, error) {
	named, ok := v.Get(attribute)
	if !ok {
		return "", loader.Exception("salt.exceptions.SaltException", "Apache section container \"<%s>\" expects "+
			"attribute. Specify it using key \"this\".", slot)
	}
	var b strings.Builder
	b.WriteString("<" + slot + " " + data.Str(named) + ">\n")
	for key, value := range v.All() {
		if data.Str(key) == attribute || value == nil {
			continue
		}
		text, err := section(value, data.Str(key))
		if err != nil {
			return "", err
		}
		b.WriteString(text + "\n")
	}
	return b.String() + "</" + slot + ">\n", nil
}

func list(v []any, slot string) (string, error) {
	var b strings.Builder
	open := ""
	for _, item := range v {
		if m, ok := item.(*data.Map); ok && m.Has(attribute) {
			open = "<" + slot + " " + data.Str(m.Value(attribute)) + ">\n"
		}
	}
	for _, item := range v {
		m, ok := item.(*data.Map)
		if open == "" || !ok {
			text, err := section(item, slot)
			if err != nil {
				return "", err
			}
			b.WriteString(text + "\n")
			continue
		}
		for key, value := range m.All() {
			if data.Str(key) == attribute {
				continue
			}
			text, err := section(value, data.Str(key))
			if err != nil {
				return "", err
			}
			b.WriteString(text + "\n")
		}
	}
	if open == "" {
		return b.String(), nil
	}
	return open + b.String() + "</" + slot + ">\n", nil
}
