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
	*rendering
	sls, saltenv string
	init         bool // its file is init.sls
	state        *data.Map
	shared       map[*any]bool // first items of lists that stand in several places, by YAML aliases
}

func (d *document) handle(ctx context.Context) error {
	include := d.includes()
	d.findShared()
	d.takeExtend()
	d.takeExclude()
	d.declare()
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

// takeExtend puts the extensions of the SLS under __extend__ (salt/state.py, _handle_extend).
func (d *document) takeExtend() {
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
		d.sign(body)
		d.splitDotted(body, func(string) bool { return true })
	}
	d.state.Set("__extend__", []any{ext})
}

// takeExclude puts the exclusions of the SLS under __exclude__ (salt/state.py, _handle_exclude).
func (d *document) takeExclude() {
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

// sign notes in a body which SLS it is from.
func (d *document) sign(body *data.Map) {
	if !body.Has("__sls__") {
		body.Set("__sls__", d.sls)
	}
	if !body.Has("__env__") {
		body.Set("__env__", d.saltenv)
	}
}

// declare brings short and dotted declarations into the form of lists (salt/state.py, _handle_state_decls).
func (d *document) declare() {
	for id, v := range d.state.All() {
		if id == "__extend__" || id == "__exclude__" {
			continue
		}
		switch body := v.(type) {
		case *data.Map:
			d.body(id, body)
		case string:
			d.short(id, body)
		default:
			d.notDictionary(id)
		}
	}
}

func (d *document) notDictionary(id any) {
	d.problem("ID %s in SLS %s is not a dictionary", data.Str(id), d.sls)
}

// short is the declaration ID: STATE.FUN.
func (d *document) short(id any, text string) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 {
		d.notDictionary(id)
		return
	}
	d.state.Set(id, data.NewMap("__sls__", d.sls, "__env__", d.saltenv, parts[0], []any{parts[1]}))
}

func (d *document) body(id any, body *data.Map) {
	seen := map[string]bool{}
	d.splitDotted(body, func(state string) bool {
		if seen[state] {
			d.problem("ID '%s' in SLS '%s' contains multiple state declarations of the same type", data.Str(id), d.sls)
			return false
		}
		return true
	}, seen)
	d.sign(body)
}

// splitDotted makes STATE: [..., FUN] of STATE.FUN: [...], where allow agrees. It notes the states in seen.
func (d *document) splitDotted(body *data.Map, allow func(state string) bool, seen ...map[string]bool) {
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
		if len(parts) > 1 && !allow(parts[0]) {
			continue
		}
		for _, s := range seen {
			s[parts[0]] = true
		}
		if len(parts) > 1 {
			body.Delete(key)
			body.Set(parts[0], list)
			d.grow(body, parts[0], parts[1])
		}
	}
}

// findShared finds the lists of states that are one list by a YAML alias: what is appended to one is appended to all.
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

// grow appends to a list of a body, and to all others of the document that are the same list.
func (d *document) grow(body *data.Map, key string, v any) {
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

// autoOrder gives an order to states that name none (salt/state.py, _handle_iorder).
func (d *document) autoOrder() {
	if v, ok := d.c.env().Opts.Get("state_auto_order"); ok && !data.Truth(v) {
		return
	}
	for _, v := range d.state.All() {
		switch body := v.(type) {
		case *data.Map:
			d.orderBody(body)
		case string, []any:
		default: // where Salt gives up
			logging.Print(d.c.env().Log, logging.Critical, "Could not render SLS "+d.sls+". Syntax error detected.")
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
		d.grow(body, key, data.NewMap("order", d.order))
		d.order++
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

// firstKey returns the first key of a dictionary, nil where there is none.
func firstKey(m *data.Map) any {
	if m.Len() == 0 {
		return nil
	}
	key, _ := m.At(0)
	return key
}
