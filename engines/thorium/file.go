package thorium

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

func (r *register) fileFunctions(env *loader.Env) []loader.Func {
	return []loader.Func{loader.F("save", func(ctx context.Context, a saveArgs) (any, error) {
		return r.save(ctx, env, a)
	})}
}

type saveArgs struct {
	Name   string
	Filter any `default:"False"`
}

// save writes the register as JSON to an absolute path, or to a file of that name below cachedir.
// Without filter a set cannot be written; with it, it becomes its text in Python.
func (r *register) save(ctx context.Context, env *loader.Env, a saveArgs) (any, error) {
	path := a.Name
	if !filepath.IsAbs(path) {
		if !filepath.IsLocal(path) {
			return change.Failed(a.Name, a.Name+" is outside of the directory of thorium"), nil
		}
		// the options of the run have the directory of thorium as cachedir
		path = filepath.Join(env.Opts.Text("cachedir"), "saves", path)
	}
	if change.Test(ctx) {
		return change.New(a.Name, nil, nil, "The register would be saved to "+path), nil
	}
	text, err := r.text(a.Filter == true)
	if err != nil {
		return change.Failed(a.Name, fmt.Sprintf("write the register as JSON: %v", err)), nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	if err := atomicfile.Write(path, text, atomicfile.Options{Mode: 0o600}); err != nil {
		return change.Failed(a.Name, err.Error()), nil
	}
	return change.New(a.Name, true, nil, ""), nil
}

// text returns the register as JSON.
func (r *register) text(filter bool) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := any(r.values)
	if filter {
		v = simple(v)
	}
	return pyjson.Append(nil, v, pyjson.Options{Comma: ", ", Colon: ": ", ASCII: true})
}

// simple returns v with the text in Python of all that JSON does not have (salt/utils/data.py,
// simple_types_filter).
func simple(v any) any {
	switch v := v.(type) {
	case *data.Map:
		m := data.NewMap()
		for k, e := range v.All() {
			if _, isText := k.(string); !isText && k != nil {
				if _, isNumber := number(k); !isNumber {
					k = data.Repr(k)
				}
			}
			m.Set(k, simple(e))
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = simple(e)
		}
		return list
	case nil, string, bool, int64, float64:
		return v
	}
	return data.Repr(v)
}
