package runner

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/state"
)

// order lists the requisites whose states run before the chunk, in execution order.
var order = [...]string{"require", "require_any", "watch", "watch_any", "prereq", "onfail",
	"onfail_any", "onfail_all", "onchanges", "onchanges_any", "prerequired"}

// runRequired runs the chunks that a chunk requires and that have not run yet, then the chunk
// itself.
func (w *walk) runRequired(ctx context.Context, low state.Chunk, tries int) error {
	wanted, missing, err := w.required(low)
	if err != nil {
		return err
	}
	if missing != "" {
		w.requisitesMissing(ctx, low, missing)
		return nil
	}
	for _, chunk := range wanted {
		if w.results.Has(chunk.Tag()) {
			continue
		}
		if w.active[chunk.Tag()] {
			return w.cycle(ctx, low, chunk)
		}
		if err := w.chunk(ctx, chunk, 0); err != nil {
			return err
		}
		if w.failhard = w.failhard || w.failedHard(chunk); w.failhard {
			return nil
		}
	}
	if err := w.rerun(ctx, low, tries+1); err != nil || len(wanted) == 0 {
		return err
	}
	w.failhard = w.failhard || w.failedHard(wanted[len(wanted)-1])
	return nil
}

// rerun runs a chunk whose requisites have run.
func (w *walk) rerun(ctx context.Context, low state.Chunk, tries int) error {
	if !isLookahead(low) {
		if tries >= maxTries {
			w.failRecursive(low)
			return nil
		}
		return w.chunk(ctx, low, tries)
	}
	judged, _, err := w.judge(ctx, low)
	if err != nil {
		return err
	}
	if err := w.do(ctx, low); err != nil {
		return err
	}
	if ret := w.r.pre[low.Tag()]; !data.Truth(ret.Value("changes")) && judged == statusChanged {
		ret.Set("changes", data.NewMap("watch", "watch"))
		ret.Set("result", nil)
	}
	return nil
}

// required returns the required chunks and marks those that are only run ahead in test mode. If any
// are missing, it returns a message in missing instead.
func (w *walk) required(low state.Chunk) (chunks []state.Chunk, missing string, err error) {
	var b strings.Builder
	for _, kind := range order {
		v, ok := low.Get(kind)
		if !ok || kind == "prerequired" && isLookahead(low) {
			continue
		}
		missing, found, err := w.requiredBy(kind, v)
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

func (w *walk) requiredBy(kind string, v any) (missing string, chunks []state.Chunk, err error) {
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
			missing += strings.Repeat(" ", 23) + data.Str(q.kind) + ": " +
				data.Str(q.pattern) + "\n"
		}
		for _, chunk := range g.chunks {
			mark(chunk, kind, q)
		}
		chunks = append(chunks, g.chunks...)
	}
	return missing, chunks, nil
}

func mark(chunk state.Chunk, kind string, q query) {
	switch {
	case kind == "prereq":
		chunk.Set("__prereq__", true)
	case kind == "prerequired" && q.kind != "sls":
		chunk.Set("__prerequired__", true)
	}
}

// requisitesMissing sets the failed result of a chunk with requisites that do not exist.
func (w *walk) requisitesMissing(ctx context.Context, low state.Chunk, comment string) {
	ret := w.notRunResult(low, false, comment)
	if isLookahead(low) {
		w.r.pre[low.Tag()] = ret
	} else {
		w.set(low, ret)
	}
	w.r.event(ctx, ret, low, len(w.chunks))
}

// cycle handles a chunk that requires one that is waiting for it.
func (w *walk) cycle(ctx context.Context, low, chunk state.Chunk) error {
	if !data.Truth(chunk.Value("__prerequired__")) {
		w.failRecursive(low)
		w.r.next()
		w.r.event(ctx, w.result(low.Tag()), low, len(w.chunks))
		return nil
	}
	if w.r.pre[low.Tag()] != nil { // it already ran ahead: nothing to do
		return nil
	}
	low.Set("__prereq__", true)
	ret, err := w.r.call(ctx, w, newTask(low, 1))
	if err == nil {
		w.r.pre[chunk.Tag()] = ret
	}
	return err
}

// failRecursive sets the failed result of a chunk that requires itself, directly or through others.
func (w *walk) failRecursive(low state.Chunk) {
	w.r.env.Log.Error("Recursive requisite found")
	w.set(low, setIdentity(data.NewMap("changes", &data.Map{}, "result", false, "comment",
		"Recursive requisite found", "__run_num__", w.r.number), low))
}
