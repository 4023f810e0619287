package thorium

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

func (r *register) regFunctions(*loader.Env) []loader.Func {
	return []loader.Func{loader.F("set", r.set), loader.F("list", r.list), loader.F("mean", r.mean),
		loader.F("clear", r.clear), loader.F("delete", r.delete)}
}

type setArgs struct{ Name, Add, Match any }

// set adds the field add of each event that matches to a set. Values that are too long, or that a set
// cannot have, do not count.
func (r *register) set(_ context.Context, a setArgs) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry := r.entry(a.Name, func() *data.Map { return data.NewMap("val", data.Set{}) })
	set, ok := entry.Value("val").(data.Set)
	if !ok {
		return change.Failed(a.Name, "Value "+data.Str(a.Name)+" is no set"), nil
	}
	members := r.members[data.Str(a.Name)]
	if members == nil {
		members = map[string]bool{}
		r.members[data.Str(a.Name)] = members
	}
	changes := data.NewMap()
	for _, e := range r.matching(data.Str(a.Match)) {
		v := e.inner().Value(a.Add)
		if v == nil {
			v = "None"
		}
		if !data.Hashable(v) || len(set) >= maxValues || !small(v, maxValue) {
			continue
		}
		changes.Set(a.Add, v)
		if text := data.Repr(v); !members[text] {
			members[text] = true
			set = append(set, v)
		}
	}
	entry.Set("val", set)
	return change.New(a.Name, true, changes, ""), nil
}

type listArgs struct {
	Name, Add, Match any
	Stamp            any   `default:"False"`
	Prune            int64 `default:"0"`
}

// list adds a dictionary of the fields add of each event that matches to a list. With stamp it has the
// time of the event, too. With prune the list keeps only so many of the newest ones. A value that is too
// long is left out.
func (r *register) list(_ context.Context, a listArgs) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fields, isList := a.Add.([]any)
	if !isList {
		fields = data.Values(data.SplitTexts(a.Add, ","))
	}
	entry := r.entry(a.Name, func() *data.Map { return data.NewMap("val", []any{}) })
	list, ok := entry.Value("val").([]any)
	if !ok {
		return change.Failed(a.Name, "Value "+data.Str(a.Name)+" is no list"), nil
	}
	for _, e := range r.matching(data.Str(a.Match)) {
		item, from := data.NewMap(), e.inner()
		for _, field := range fields {
			if v, ok := from.Get(field); ok && small(v, maxValue) {
				item.Set(field, v)
				if a.Stamp == true {
					item.Set("time", e.data.Value("_stamp"))
				}
			}
		}
		list = append(list, item)
	}
	if a.Prune > 0 {
		list = newest(list, int(min(a.Prune, maxValues)))
	}
	entry.Set("val", append([]any{}, newest(list, maxValues)...))
	return change.New(a.Name, true, nil, ""), nil
}

// mean keeps the mean of the field add of all events that match, with their total and count. Values
// that are no numbers do not count.
func (r *register) mean(_ context.Context, a setArgs) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry := r.entry(a.Name, func() *data.Map {
		return data.NewMap("val", int64(0), "total", int64(0), "count", int64(0))
	})
	total, isTotal := number(entry.Value("total"))
	count, isCount := number(entry.Value("count"))
	if !isTotal || !isCount {
		return change.Failed(a.Name, fmt.Sprintf("Value %s is no mean", data.Str(a.Name))), nil
	}
	for _, e := range r.matching(data.Str(a.Match)) {
		v := e.inner().Value(a.Add)
		n, ok := number(v)
		if text, isText := v.(string); isText {
			whole, err := loader.Int(text)
			n, ok = float64(whole), err == nil
		}
		if !ok {
			continue
		}
		total, count = total+n, count+1
		entry.Set("val", total/count)
	}
	entry.Set("total", numeral(total, true))
	entry.Set("count", numeral(count, true))
	return change.New(a.Name, true, nil, ""), nil
}

type nameArgs struct{ Name any }

// clear empties an entry.
func (r *register) clear(_ context.Context, a nameArgs) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.values.Has(a.Name) {
		r.values.Set(a.Name, data.NewMap())
	}
	return change.New(a.Name, true, nil, ""), nil
}

// delete removes an entry.
func (r *register) delete(_ context.Context, a nameArgs) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values.Delete(a.Name)
	delete(r.members, data.Str(a.Name))
	return change.New(a.Name, true, nil, ""), nil
}
