package cmd

import (
	"encoding/json"
	"errors"

	"github.com/brineproject/brine/data"
)

var errTrailing = errors.New("text after the JSON value")

// readJSON decodes one value. Objects keep their order.
func readJSON(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '{' {
			return readObject(d)
		}
		return readArray(d)
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n, nil
		}
		return t.Float64()
	}
	return t, nil
}

func readObject(d *json.Decoder) (any, error) {
	m := &data.Map{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := readJSON(d)
		if err != nil {
			return nil, err
		}
		m.Set(key, v)
	}
	_, err := d.Token()
	return m, err
}

func readArray(d *json.Decoder) (any, error) {
	list := []any{}
	for d.More() {
		v, err := readJSON(d)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}
