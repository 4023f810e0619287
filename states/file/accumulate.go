package file

import (
	"context"
	"slices"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state/change"
)

// accumulators holds the texts that states of a run have collected for files: by file, then by name
// of the accumulator.
type accumulators struct {
	texts map[string]*data.Map
	deps  map[string]map[string][]any // IDs and names of the states that use them
}

// accumulatorsOf returns the accumulators of the run.
func accumulatorsOf(ctx context.Context) *accumulators {
	job, key := loader.ContextOf(ctx), "file accumulators of "+change.CallOf(ctx).Run
	if v, ok := job.Get(key); ok {
		return v.(*accumulators)
	}
	a := &accumulators{map[string]*data.Map{}, map[string]map[string][]any{}}
	job.Set(key, a)
	return a
}

type accumulatedArgs struct {
	Name     string
	Filename string
	Text     any
	Kwargs   *data.Map `kwargs:"kwargs"`
}

// accumulated collects texts for a file, for use by the states that require this one. In a template
// of file.managed they are available as accumulator, and file.blockreplace adds them to its
// content.
//
//	animals_doing_things:
//	  file.accumulated:
//	    - filename: /tmp/animal_file.txt
//	    - text: ' jumps over the lazy dog.'
//	    - require_in:
//	      - file: animal_file
func (m *module) accumulated(ctx context.Context, a accumulatedArgs) (any, error) {
	low := change.CallOf(ctx).Low
	if a.Name == "" {
		return change.Failed(a.Name, "Must provide name to file.accumulated"), nil
	}
	if a.Text == nil {
		return change.Failed(a.Name, "No text supplied for accumulator"), nil
	}
	users, used := filesOf(low, change.CallOf(ctx).Chunks)
	if !used {
		return change.Failed(a.Name, "Orphaned accumulator "+a.Name+" in "+low.Text("__sls__")+":"+
			low.Text("__id__")), nil
	}
	list, ok := a.Text.([]any)
	if !ok {
		list = []any{a.Text}
	}
	acc := accumulatorsOf(ctx)
	if acc.texts[a.Filename] == nil {
		acc.texts[a.Filename], acc.deps[a.Filename] = data.NewMap(), map[string][]any{}
	}
	acc.deps[a.Filename][a.Name] = append(acc.deps[a.Filename][a.Name], users...)
	had, _ := acc.texts[a.Filename].Value(a.Name).([]any)
	comment := ""
	for _, text := range list {
		if !slices.ContainsFunc(had, func(v any) bool { return data.Equal(v, text) }) {
			had = append(slices.Clip(had), text)
			comment = "Accumulator " + a.Name + " for file " + a.Filename + " was charged by text"
		}
	}
	acc.texts[a.Filename].Set(a.Name, had)
	return change.Unchanged(a.Name, comment), nil
}

// filesOf returns the names of the states that require or watch a chunk, and whether one of them is
// a file state.
func filesOf(low *data.Map, chunks func() []*data.Map) (names []any, file bool) {
	for _, key := range []string{"require_in", "watch_in"} {
		list, _ := low.Value(key).([]any)
		for _, v := range list {
			one, ok := v.(*data.Map)
			if !ok {
				names, file = append(names, v), file || namesFile(chunks(), v)
				continue
			}
			file = file || one.Has("file")
			for _, name := range one.All() {
				names = append(names, name)
			}
		}
	}
	return names, file
}

// namesFile reports whether a requisite without a module, that is, an ID or a name, refers to a
// file state.
func namesFile(chunks []*data.Map, id any) bool {
	return slices.ContainsFunc(chunks, func(low *data.Map) bool {
		return low.Value("state") == "file" &&
			(data.Equal(low.Value("__id__"), id) || data.Equal(low.Value("name"), id))
	})
}
