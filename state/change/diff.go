package change

import (
	"slices"

	"github.com/brineproject/brine/data"
)

// DeepDiff returns the differences of two dictionaries: {old: ..., new: ...} with the parts that differ,
// and neither if there are none. Dictionaries in them are compared part by part. The keys of ignore do not
// count, wherever they are (salt/utils/dictdiffer.py, deep_diff).
func DeepDiff(before, after *data.Map, ignore ...string) *data.Map {
	old, now := deepDiff(before, after, ignore)
	d := &data.Map{}
	if old.Len() > 0 {
		d.Set("old", old)
	}
	if now.Len() > 0 {
		d.Set("new", now)
	}
	return d
}

func deepDiff(before, after *data.Map, ignore []string) (old, now *data.Map) {
	old, now = &data.Map{}, &data.Map{}
	for k, v := range before.All() {
		if slices.Contains(ignore, data.Str(k)) {
			continue
		}
		other, ok := after.Get(k)
		switch {
		case !ok:
			old.Set(k, v)
		case !data.Equal(v, other):
			a, isMap := v.(*data.Map)
			b, both := other.(*data.Map)
			if !isMap || !both {
				old.Set(k, v)
				now.Set(k, other)
				continue
			}
			if a, b = deepDiff(a, b, ignore); a.Len() > 0 || b.Len() > 0 {
				old.Set(k, a)
				now.Set(k, b)
			}
		}
	}
	for k, v := range after.All() {
		if !before.Has(k) && !slices.Contains(ignore, data.Str(k)) {
			now.Set(k, v)
		}
	}
	return old, now
}
