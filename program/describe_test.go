package program

import "testing"

// FuzzParse reads what a program may print of itself.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"functions": {"f": {"params": ["a", {"b": 1}], "args": true, "kwargs": "more"}}}`))
	f.Add([]byte(`{"reason": 1, "name": [], "aliases": {}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parse(b, "own")
		if err != nil {
			return
		}
		for _, spec := range d.funcs {
			if _, err := spec.Bind(nil, nil); err == nil && len(spec.Params) > 0 && spec.Params[0].Required {
				t.Errorf("%s takes no arguments, but %s is required", spec.Name, spec.Params[0].Name)
			}
		}
	})
}
