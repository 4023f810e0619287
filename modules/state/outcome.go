package state

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// judgeRun sets the return code by the results of a run. A failed state does not count if a state
// with onfail_stop: False that handles the failure succeeded (salt/utils/state.py, check_result
// with check_onfail_requisites).
func judgeRun(ctx context.Context, result any, high *data.Map) {
	results, ok := result.(*data.Map)
	if !ok || succeeded(result) {
		judge(ctx, result)
		return
	}
	code := codeOK
	if results.Len() == 0 {
		code = codeFailure
	}
	for tag, v := range results.All() {
		body, isMap := v.(*data.Map)
		if isMap && bodySucceeded(body) {
			continue
		}
		if !handled(data.Str(tag), results, high) {
			code = codeFailure
			break
		}
	}
	loader.ContextOf(ctx).SetRetcode(code)
}

// handled reports whether the states that handle the failure of a tag succeeded.
func handled(tag string, results, high *data.Map) bool {
	fixed := false
	for _, h := range handlers(tag, high) {
		for other, v := range results.All() {
			kind, id, _ := tagParts(data.Str(other))
			body, _ := v.(*data.Map)
			if kind != h.kind || id != h.id || body == nil {
				continue
			}
			switch body.Value("result") {
			case false:
				return false
			case true:
				fixed = true
			}
		}
	}
	return fixed
}

func tagParts(tag string) (kind, id string, ok bool) {
	parts := strings.Split(tag, "_|-")
	if len(parts) < 4 {
		return "", tag, false
	}
	return parts[0], parts[1], true
}

// A handler is a state that runs when another state fails.
type handler struct{ kind, id string }

// handlers returns the states with onfail_stop: False whose onfail names the state of a tag.
func handlers(tag string, high *data.Map) []handler {
	var found []handler
	kind, failed, _ := tagParts(tag)
	for id, v := range high.All() {
		body, ok := v.(*data.Map)
		if !ok || data.Str(id) == failed {
			continue
		}
		for key, v := range body.All() {
			args, ok := v.([]any)
			name := data.Str(key)
			if ok && !strings.HasPrefix(name, "__") && handles(args, kind, failed) {
				found = append(found, handler{name, data.Str(id)})
			}
		}
	}
	return found
}

func handles(args []any, kind, id string) bool {
	stops, named := true, false
	for _, arg := range args {
		m, _ := arg.(*data.Map)
		if v, ok := m.Get("onfail_stop"); ok && v == false {
			stops = false
		}
		list, _ := m.Value("onfail").([]any)
		for _, item := range list {
			req, _ := item.(*data.Map)
			for k, v := range req.All() {
				named = named || v == id && (kind == "" || k == kind)
			}
		}
	}
	return !stops && named
}
