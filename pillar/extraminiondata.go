package pillar

import (
	"context"
	"errors"
	"strings"

	"github.com/brineproject/brine/data"
)

// ExtraMinionData is the external pillar extra_minion_data_in_pillar: what the caller of a
// compilation passes as extra_minion_data. Its argument include is a list of keys, with colons for
// keys below, or * or <all> for everything (salt/pillar/extra_minion_data_in_pillar.py).
type ExtraMinionData struct{}

// Name implements Source.
func (ExtraMinionData) Name() string { return "extra_minion_data_in_pillar" }

var _ Checker = ExtraMinionData{}

// Check implements Checker.
func (ExtraMinionData) Check(argument any, _ *data.Map) error {
	_, _, err := included(argument)
	return err
}

func included(argument any) (keys []string, all bool, err error) {
	args, err := Bind(argument, 1, "include")
	if err != nil {
		return nil, false, err
	}
	switch v := args.Value("include").(type) {
	case string:
		if v == "*" || v == "<all>" {
			return nil, true, nil
		}
	case []any:
		return data.TextsOf(v), false, nil
	}
	return nil, false, errors.New("include: expected a list of keys, or <all>")
}

// Pillar implements Source.
func (ExtraMinionData) Pillar(_ context.Context, q Query) (*data.Map, error) {
	keys, all, err := included(q.Argument)
	if err != nil || q.ExtraMinionData.Len() == 0 {
		return nil, err
	}
	if all {
		return q.ExtraMinionData, nil
	}
	out := data.NewMap()
	for _, key := range keys {
		out.Update(subtree(key, q.ExtraMinionData))
	}
	return out, nil
}

// subtree returns the part of a dictionary that a key with colons names; nil if it is missing.
func subtree(key string, from *data.Map) *data.Map {
	head, rest, more := strings.Cut(key, ":")
	v, ok := from.Get(head)
	if !ok {
		return nil
	}
	if !more {
		return data.NewMap(head, v)
	}
	below, ok := v.(*data.Map)
	if !ok {
		return nil
	}
	if found := subtree(rest, below); found != nil {
		return data.NewMap(head, found)
	}
	return nil
}
