package runner

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// init calls mod_init of a chunk's module, until it says that it is done (salt/state.py, _mod_init).
func (r *Runner) init(ctx context.Context, low *data.Map) error {
	module := low.Text("state")
	if r.begun[module] || !r.states.Has(module+".mod_init") || !r.states.Has(function(low)) {
		return nil
	}
	done, err := r.states.Invoke(loader.WithContext(ctx, r.context), module+".mod_init", []any{low}, nil)
	r.begun[module] = err == nil && data.Truth(done)
	return err
}

// aggregate lets a module join further chunks to one, where the option state_aggregate or the chunk's aggregate says so, and
// returns the chunk to run (salt/state.py, _mod_aggregate).
func (w *walk) aggregate(ctx context.Context, low *data.Map) (*data.Map, error) {
	wanted, ok := low.Get("aggregate")
	if !ok {
		var err error
		if wanted, err = w.r.aggregates(ctx); err != nil {
			return nil, err
		}
	}
	module := low.Text("state")
	list, isList := wanted.([]any)
	if wanted != true && !(isList && slices.Contains(list, any(module))) || data.Truth(low.Value("__agg__")) || !w.r.states.Has(module+".mod_aggregate") {
		return low, nil
	}
	low.Set("__agg__", true)
	w.inherit(low)
	chunks := make([]any, len(w.chunks))
	for i, chunk := range w.chunks {
		chunks[i] = chunk
	}
	v, err := w.r.states.Invoke(loader.WithContext(ctx, w.r.context), module+".mod_aggregate", []any{low, chunks, w.results}, nil)
	if joined, ok := v.(*data.Map); ok && err == nil {
		return joined, nil
	}
	if loader.KindOf(err) == loader.KindType {
		w.r.env.Log.Errorf("Failed to execute aggregate for state %s", module)
		return low, nil
	}
	return low, err
}

// inherit gives a chunk what those require that were joined already.
func (w *walk) inherit(low *data.Map) {
	joined := &data.Map{}
	for _, chunk := range w.chunks {
		if chunk.Value("state") != low.Value("state") || !data.Truth(chunk.Value("__agg__")) || data.Equal(chunk.Value("name"), low.Value("name")) {
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
	return slices.Contains(order[:], strings.TrimSuffix(key, "_in")) || key == "listen" || key == "listen_in" || key == "onfail_stop"
}

func (r *Runner) aggregates(ctx context.Context) (any, error) {
	if r.aggKnown {
		return r.agg, nil
	}
	var err error
	r.agg, err = r.option(ctx, "state_aggregate")
	r.aggKnown = err == nil
	return r.agg, err
}

// refresh gathers anew what a state may have changed (salt/state.py, check_refresh).
func (r *Runner) refresh(ctx context.Context, low, ret *data.Map) error {
	grains, pillar := data.Truth(low.Value("reload_grains")), data.Truth(low.Value("reload_pillar"))
	if (grains || pillar) && r.o.Refresh != nil {
		if err := r.o.Refresh(ctx, grains, pillar); err != nil {
			return err
		}
	}
	changes := data.Truth(ret.Value("changes"))
	if !changes && data.Truth(low.Value("force_reload_modules")) ||
		changes && (grains || pillar || data.Truth(low.Value("reload_modules")) || bringsModules(low)) {
		r.reload(ctx)
	}
	return nil
}

// bringsModules reports whether a state that changed something may have brought programs that modules look for.
func bringsModules(low *data.Map) bool {
	name := low.Text("name")
	switch function(low) {
	case "file.managed":
		return slices.ContainsFunc([]string{".py", ".pyx", ".pyo", ".pyc", ".so"}, func(end string) bool { return strings.HasSuffix(name, end) })
	case "file.recurse":
		return true
	case "file.symlink":
		return strings.Contains(name, "bin")
	}
	return slices.Contains([]string{"pkg", "ports", "pip"}, low.Text("state"))
}

// reload has the modules of the run find out anew whether they work here, and tells the minion to.
func (r *Runner) reload(ctx context.Context) {
	r.env.Functions.Reload()
	r.states.Reload()
	if data.Truth(r.env.Option("local")) || !r.env.Functions.Has("saltutil.refresh_modules") {
		return
	}
	if _, err := r.env.Call(ctx, "saltutil.refresh_modules", nil, nil); err != nil {
		r.env.Log.Warnf("refresh the minion's modules: %v", err)
	}
}
