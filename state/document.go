package state

import (
	"context"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
)

// document is one rendered SLS.
type document struct {
	problemList
	rendering    *rendering
	sls, saltenv string
	init         bool // the file is init.sls
	state        *data.Map
	// first items of lists that several states share through YAML aliases
	shared map[*any]bool
}

func (d *document) process(ctx context.Context) error {
	include := d.includes()
	d.findShared()
	d.moveExtend()
	d.moveExclude()
	d.normalize()
	for _, entry := range include {
		if err := d.include(ctx, entry); err != nil {
			return err
		}
	}
	d.autoOrder()
	return nil
}

func (d *document) includes() []any {
	v, ok := d.state.Get("include")
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		d.problem("Include Declaration in SLS %s is not formed as a list", d.sls)
		return nil
	}
	d.state.Delete("include")
	return list
}

// moveExtend moves the extensions of the SLS to __extend__ (salt/state.py, _handle_extend).
func (d *document) moveExtend() {
	v, ok := d.state.Get("extend")
	if !ok {
		return
	}
	d.state.Delete("extend")
	ext, ok := v.(*data.Map)
	if !ok {
		d.problem("Extension value in SLS '%s' is not a dictionary", d.sls)
		return
	}
	for id, v := range ext.All() {
		body, ok := v.(*data.Map)
		if !ok {
			d.problem("Extension name '%s' in SLS '%s' is not a dictionary", data.Str(id), d.sls)
			continue
		}
		d.setOrigin(body)
		d.splitDotted(body, func(string, bool) bool { return true })
	}
	d.state.Set("__extend__", []any{ext})
}

// moveExclude moves the exclusions of the SLS to __exclude__ (salt/state.py, _handle_exclude).
func (d *document) moveExclude() {
	v, ok := d.state.Get("exclude")
	if !ok {
		return
	}
	d.state.Delete("exclude")
	list, ok := v.([]any)
	if !ok {
		d.problem("Exclude Declaration in SLS %s is not formed as a list", d.sls)
		return
	}
	d.state.Set("__exclude__", append([]any{}, list...))
}

// setOrigin records the SLS and environment in a body unless it already has them.
func (d *document) setOrigin(body *data.Map) {
	if !body.Has("__sls__") {
		body.Set("__sls__", d.sls)
	}
	if !body.Has("__env__") {
		body.Set("__env__", d.saltenv)
	}
}

// normalize converts short and dotted declarations to lists (salt/state.py, _handle_state_decls).
func (d *document) normalize() {
	for id, v := range d.state.All() {
		if id == "__extend__" || id == "__exclude__" {
			continue
		}
		switch body := v.(type) {
		case *data.Map:
			d.normalizeBody(id, body)
		case string:
			d.expandShort(id, body)
		default:
			d.notDictionary(id)
		}
	}
}

func (d *document) notDictionary(id any) {
	d.problem("ID %s in SLS %s is not a dictionary", data.Str(id), d.sls)
}

// expandShort expands the short declaration ID: STATE.FUN.
func (d *document) expandShort(id any, text string) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 {
		d.notDictionary(id)
		return
	}
	d.state.Set(id, data.NewMap("__sls__", d.sls, "__env__", d.saltenv, parts[0], []any{parts[1]}))
}

func (d *document) normalizeBody(id any, body *data.Map) {
	seen := map[string]bool{}
	d.splitDotted(body, func(state string, dotted bool) bool {
		if dotted && seen[state] {
			d.problem("ID '%s' in SLS '%s' contains multiple state declarations of the same type",
				data.Str(id), d.sls)
			return false
		}
		seen[state] = true
		return true
	})
	d.setOrigin(body)
}

// splitDotted converts STATE.FUN: [...] to STATE: [..., FUN]. It calls allow for each list, dotted
// or not, and leaves it as it is if allow returns false.
func (d *document) splitDotted(body *data.Map, allow func(state string, dotted bool) bool) {
	for _, k := range body.Keys() {
		key, ok := k.(string)
		if !ok || strings.HasPrefix(key, "_") {
			continue
		}
		list, ok := body.Value(key).([]any)
		if !ok {
			continue
		}
		parts := strings.Split(key, ".")
		if dotted := len(parts) > 1; allow(parts[0], dotted) && dotted {
			body.Delete(key)
			body.Set(parts[0], list)
			d.appendArg(body, parts[0], parts[1])
		}
	}
}

// findShared finds the lists that several states share through a YAML alias. A value appended to
// one of them must be appended to all.
func (d *document) findShared() {
	d.shared = map[*any]bool{}
	for _, v := range d.state.All() {
		body, _ := v.(*data.Map)
		for _, v := range body.All() {
			if list, ok := v.([]any); ok && len(list) > 0 {
				_, twice := d.shared[&list[0]]
				d.shared[&list[0]] = twice
			}
		}
	}
}

// appendArg appends a value to a list in a body, and to every other place in the document that
// shares the list.
func (d *document) appendArg(body *data.Map, key string, v any) {
	old := body.Value(key).([]any)
	list := append(slices.Clip(old), v)
	body.Set(key, list)
	if len(old) == 0 || !d.shared[&old[0]] {
		return
	}
	d.shared[&list[0]] = true
	for _, other := range d.state.All() {
		m, _ := other.(*data.Map)
		for k, v := range m.All() {
			if l, ok := v.([]any); ok && len(l) == len(old) && &l[0] == &old[0] {
				m.Set(k, list)
			}
		}
	}
}

// autoOrder assigns an order to states without one (salt/state.py, _handle_iorder).
func (d *document) autoOrder() {
	if v, ok := d.rendering.c.env().Opts.Get("state_auto_order"); ok && !data.Truth(v) {
		return
	}
	for _, v := range d.state.All() {
		switch body := v.(type) {
		case *data.Map:
			d.orderBody(body)
		case string, []any:
		default: // Salt stops here
			logging.Print(d.rendering.c.env().Log, logging.Critical, "Could not render SLS "+d.sls+
				". Syntax error detected.")
			return
		}
	}
}

func (d *document) orderBody(body *data.Map) {
	for _, k := range body.Keys() {
		key, ok := k.(string)
		list, isList := body.Value(k).([]any)
		if !ok || !isList || strings.HasPrefix(key, "_") || ordered(list) {
			continue
		}
		d.appendArg(body, key, data.NewMap("order", d.rendering.order))
		d.rendering.order++
	}
}

func ordered(args []any) bool {
	for _, arg := range args {
		if m, ok := arg.(*data.Map); ok && firstKey(m) == "order" {
			return true
		}
	}
	return false
}

// firstKey returns the first key of a dictionary, or nil if it is empty.
func firstKey(m *data.Map) any {
	if m.Len() == 0 {
		return nil
	}
	key, _ := m.At(0)
	return key
}
