package runner

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
	"github.com/brineproject/brine/state"
)

// init calls mod_init of a chunk's module until it returns true (salt/state.py, _mod_init).
func (r *Runner) init(ctx context.Context, low state.Chunk) error {
	module := low.State()
	if r.initialized[module] || !r.states.Has(module+".mod_init") || !r.states.Has(low.Function()) {
		return nil
	}
	done, err := r.states.Invoke(loader.WithContext(ctx, r.context),
		module+".mod_init", []any{low.Map}, nil)
	r.initialized[module] = err == nil && data.Truth(done)
	return err
}

// aggregate lets a module join further chunks to this one, if the option state_aggregate or the
// chunk's own aggregate asks for it. It returns the chunk to run (salt/state.py, _mod_aggregate).
func (w *walk) aggregate(ctx context.Context, low state.Chunk) (state.Chunk, error) {
	wanted, ok := low.Get("aggregate")
	if !ok {
		var err error
		if wanted, err = w.r.aggregates(ctx); err != nil {
			return low, err
		}
	}
	module := low.State()
	list, isList := wanted.([]any)
	if wanted != true && !(isList && slices.Contains(list, any(module))) ||
		data.Truth(low.Value("__agg__")) || !w.r.states.Has(module+".mod_aggregate") {
		return low, nil
	}
	low.Set("__agg__", true)
	w.inherit(low)
	v, err := w.r.states.Invoke(loader.WithContext(ctx, w.r.context),
		module+".mod_aggregate", []any{low.Map, state.List(w.chunks), w.results}, nil)
	if joined, ok := v.(*data.Map); ok && err == nil {
		return state.Chunk{Map: joined}, nil
	}
	if loader.KindOf(err) == loader.KindType {
		w.r.env.Log.Errorf("Failed to execute aggregate for state %s", module)
		return low, nil
	}
	return low, err
}

// inherit copies the requisites of the chunks that were already joined to this chunk.
func (w *walk) inherit(low state.Chunk) {
	joined := &data.Map{}
	for _, chunk := range w.chunks {
		if chunk.State() != low.State() || !data.Truth(chunk.Value("__agg__")) ||
			data.Equal(chunk.Name(), low.Name()) {
			continue
		}
		for key, v := range chunk.All() {
			if word, ok := key.(string); ok && isRequisite(word) {
				joined.Set(key, slices.Concat(elements(joined.Value(key)), elements(v)))
			}
		}
	}
	low.Update(joined)
}

func isRequisite(key string) bool {
	return slices.Contains(order[:], strings.TrimSuffix(key, "_in")) || key == "listen" ||
		key == "listen_in" || key == "onfail_stop"
}

func (r *Runner) aggregates(ctx context.Context) (any, error) {
	if r.aggregateRead {
		return r.stateAggregate, nil
	}
	var err error
	r.stateAggregate, err = r.option(ctx, "state_aggregate")
	r.aggregateRead = err == nil
	return r.stateAggregate, err
}

// refresh reloads grains, pillar and modules that a state may have changed (salt/state.py,
// check_refresh).
func (r *Runner) refresh(ctx context.Context, low state.Chunk, ret *data.Map) error {
	grains, pillar := data.Truth(low.Value("reload_grains")), data.Truth(low.Value("reload_pillar"))
	if (grains || pillar) && r.o.Refresh != nil {
		if err := r.o.Refresh(ctx, grains, pillar); err != nil {
			return err
		}
	}
	changes := data.Truth(ret.Value("changes"))
	if !changes && data.Truth(low.Value("force_reload_modules")) ||
		changes && (grains || pillar || data.Truth(low.Value("reload_modules")) ||
			mayInstall(low)) {
		r.reload(ctx)
	}
	return nil
}

// mayInstall reports whether a state that changed something may have installed programs or files
// that modules depend on.
func mayInstall(low state.Chunk) bool {
	name := low.Text("name")
	switch low.Function() {
	case "file.managed":
		return slices.ContainsFunc([]string{".py", ".pyx", ".pyo", ".pyc", ".so"},
			func(end string) bool { return strings.HasSuffix(name, end) })
	case "file.recurse":
		return true
	case "file.symlink":
		return strings.Contains(name, "bin")
	}
	return slices.Contains([]string{"pkg", "ports", "pip"}, low.State())
}

// reload makes the modules of the run check again whether they work on this host, and asks the
// minion to do the same.
func (r *Runner) reload(ctx context.Context) {
	r.env.Functions.Reload()
	r.states.Reload()
	if data.Truth(r.env.Option("local")) || !r.env.Functions.Has("saltutil.refresh_modules") {
		return
	}
	if err := calls.RefreshModules(ctx, r.env); err != nil {
		r.env.Log.Warnf("refresh the minion's modules: %v", err)
	}
}
