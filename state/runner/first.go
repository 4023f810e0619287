package runner

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
)

// order are the requisites whose states run before the chunk, in the order in which they do.
var order = [...]string{"require", "require_any", "watch", "watch_any", "prereq", "onfail", "onfail_any", "onfail_all", "onchanges", "onchanges_any", "prerequired"}

// first runs what a chunk requires and has not run yet, and then the chunk.
func (w *walk) first(ctx context.Context, low *data.Map, tries int) error {
	wanted, lost, err := w.wanted(low)
	if err != nil {
		return err
	}
	if lost != "" {
		w.lost(ctx, low, lost)
		return nil
	}
	for _, chunk := range wanted {
		if w.results.Has(tagOf(chunk)) {
			continue
		}
		if w.active[tagOf(chunk)] {
			return w.cycle(ctx, low, chunk)
		}
		if err := w.chunk(ctx, chunk, 0); err != nil {
			return err
		}
		if w.failhard = w.failhard || w.failed(chunk); w.failhard {
			return nil
		}
	}
	if err := w.again(ctx, low, tries+1); err != nil || len(wanted) == 0 {
		return err
	}
	w.failhard = w.failhard || w.failed(wanted[len(wanted)-1])
	return nil
}

// again runs a chunk whose requisites have run.
func (w *walk) again(ctx context.Context, low *data.Map, tries int) error {
	if !ahead(low) {
		if tries >= mostTries {
			w.recursive(low)
			return nil
		}
		return w.chunk(ctx, low, tries)
	}
	status, _, err := w.judge(ctx, low)
	if err != nil {
		return err
	}
	if err := w.do(ctx, low); err != nil {
		return err
	}
	if ret := w.r.pre[tagOf(low)]; !data.Truth(ret.Value("changes")) && status == changed {
		ret.Set("changes", data.NewMap("watch", "watch"))
		ret.Set("result", nil)
	}
	return nil
}

// wanted returns the chunks that are required, and marks those that are looked at ahead; lost is a text for those that are
// not there.
func (w *walk) wanted(low *data.Map) (chunks []*data.Map, lost string, err error) {
	var b strings.Builder
	for _, kind := range order {
		v, ok := low.Get(kind)
		if !ok || kind == "prerequired" && ahead(low) {
			continue
		}
		missing, found, err := w.wantedBy(kind, v)
		if err != nil {
			return nil, "", err
		}
		chunks = append(chunks, found...)
		if missing != "" {
			b.WriteString(strings.Repeat(" ", 19) + kind + ":\n" + missing)
		}
	}
	if b.Len() == 0 {
		return chunks, "", nil
	}
	return nil, "The following requisites were not found:\n" + b.String(), nil
}

func (w *walk) wantedBy(kind string, v any) (missing string, chunks []*data.Map, err error) {
	for _, item := range elements(v) {
		q, ok := queryOf(item)
		if !ok {
			return "", nil, badRequisite(item)
		}
		g, err := w.index.find(q)
		if err != nil {
			return "", nil, err
		}
		if len(g.chunks) == 0 {
			missing += strings.Repeat(" ", 23) + data.Str(q.kind) + ": " + data.Str(q.pattern) + "\n"
		}
		for _, chunk := range g.chunks {
			mark(chunk, kind, q)
		}
		chunks = append(chunks, g.chunks...)
	}
	return missing, chunks, nil
}

func mark(chunk *data.Map, kind string, q query) {
	switch {
	case kind == "prereq":
		chunk.Set("__prereq__", true)
	case kind == "prerequired" && q.kind != "sls":
		chunk.Set("__prerequired__", true)
	}
}

// lost is a chunk that requires what is not there.
func (w *walk) lost(ctx context.Context, low *data.Map, comment string) {
	ret := w.fake(low, false, comment)
	if ahead(low) {
		w.r.pre[tagOf(low)] = ret
	} else {
		w.set(low, ret)
	}
	w.r.event(ctx, ret, low, len(w.chunks))
}

// cycle is a chunk that requires one that waits for it.
func (w *walk) cycle(ctx context.Context, low, chunk *data.Map) error {
	if !data.Truth(chunk.Value("__prerequired__")) {
		w.recursive(low)
		w.r.next()
		w.r.event(ctx, w.result(tagOf(low)), low, len(w.chunks))
		return nil
	}
	if w.r.pre[tagOf(low)] != nil { // it was looked at: nothing to do
		return nil
	}
	low.Set("__prereq__", true)
	ret, err := w.r.call(ctx, w, low, 1)
	if err == nil {
		w.r.pre[tagOf(chunk)] = ret
	}
	return err
}

// recursive is a chunk that requires itself, by way of others.
func (w *walk) recursive(low *data.Map) {
	w.r.env.Log.Error("Recursive requisite found")
	w.set(low, identify(data.NewMap("changes", &data.Map{}, "result", false, "comment", "Recursive requisite found",
		"__run_num__", w.r.number), low))
}
