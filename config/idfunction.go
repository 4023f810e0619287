package config

import (
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
)

// IDFunction returns the function that computes this minion's ID, and its keyword arguments. fun is
// "" if the option id_function is not set, or if an id is set. The option is the name of a
// function, or a mapping of the name to the arguments (salt/config/__init__.py, call_id_function).
// The caller passes the function's result to SetID.
func (m *Minion) IDFunction() (fun string, kwargs *data.Map, err error) {
	v := m.opts.Value("id_function")
	if m.idConfigured || !data.Truth(v) {
		return "", nil, nil
	}
	switch v := v.(type) {
	case string:
		return v, nil, nil
	case *data.Map:
		for name, args := range v.All() {
			kwargs, ok := args.(*data.Map)
			if args != nil && !ok {
				return "", nil, fmt.Errorf("id_function: %s: expected keyword arguments, got %s",
					data.Str(name), describe(args))
			}
			return data.Str(name), kwargs, nil
		}
	}
	return "", nil, errors.New("id_function: expected the name of a function, or a mapping of the name to keyword arguments")
}

// SetID sets the ID that a function returned, with append_domain appended. Such an ID is not
// cached.
func (m *Minion) SetID(v any) error {
	id, ok := v.(string)
	if !ok {
		return fmt.Errorf("id_function: expected a text as the id, got %s", describe(v))
	}
	if m.AppendDomain != "" {
		id = appendDomain(id, m.AppendDomain)
	}
	if err := validID(id); err != nil {
		return fmt.Errorf("id_function: %q cannot be an id: %w", id, err)
	}
	m.ID, m.idConfigured = id, true
	return nil
}
