package python

import (
	"context"

	"github.com/brineproject/brine/data"
)

// Grains calls the functions of all files of grains and returns what each gives, in the order in
// which they are merged (salt/loader/__init__.py, grains). known are the grains that the functions
// see. What goes wrong is logged.
func (f *Files) Grains(ctx context.Context, known *data.Map) []*data.Map {
	if len(f.paths()) == 0 {
		return nil
	}
	r, err := f.call(ctx, "grains", known)
	if err != nil {
		f.env.Log.Errorf("collect users' own grains: %v", err)
		return nil
	}
	parts := listOf(r.value)
	if len(parts) != 2 {
		return nil
	}
	f.logProblems(parts[1])
	var found []*data.Map
	for _, v := range listOf(parts[0]) {
		if m, ok := v.(*data.Map); ok {
			found = append(found, m)
		}
	}
	return found
}
