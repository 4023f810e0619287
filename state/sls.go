package state

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/render"
)

// firstOrder is the order of the first state that names none.
const firstOrder = 10000

// rendering is the making of one high data.
type rendering struct {
	c       *Compiler
	have    *avail
	matches *data.Map
	done    map[string]bool // SLS that were rendered, ENV:SLS
	order   int64           // of the next state that names none
	high    *data.Map
	errs    []string
}

func (r *rendering) problem(format string, args ...any) {
	r.errs = append(r.errs, fmt.Sprintf(format, args...))
}

// logged is problem for what Salt also tells its log.
func (r *rendering) logged(level logging.Level, format string, args ...any) {
	r.problem(format, args...)
	logging.Print(r.c.env().Log, level, r.errs[len(r.errs)-1])
}

// Render returns the high data of SLS, environment → list of names or globs, and what is wrong with it; it is not verified
// (salt/state.py, render_highstate).
func (c *Compiler) Render(ctx context.Context, matches *data.Map) (*data.Map, []string, error) {
	r := &rendering{c: c, have: c.avail(), matches: matches, done: map[string]bool{}, order: firstOrder, high: data.NewMap()}
	for saltenv, v := range matches.All() {
		list, _ := v.([]any)
		for _, pattern := range list {
			if err := r.matched(ctx, data.Str(pattern), data.Str(saltenv)); err != nil {
				return nil, nil, err
			}
		}
	}
	cleanExtends(r.high)
	return r.high, r.errs, nil
}

// matched renders the SLS that one entry of the matches names.
func (r *rendering) matched(ctx context.Context, pattern, saltenv string) error {
	names, err := r.listed(ctx, pattern, saltenv)
	if err != nil {
		return err
	}
	for _, sls := range names {
		if r.done[saltenv+":"+sls] {
			continue
		}
		before := len(r.errs)
		state, err := r.sls(ctx, sls, saltenv)
		if err != nil {
			return err
		}
		r.mergeInto(r.high, state)
		for i, text := range r.errs[before:] {
			if strings.Contains(text, "SLS "+pattern+" in saltenv "+saltenv+noFile) {
				r.errs[before+i] = fmt.Sprintf("No matching sls found for '%s' in env '%s'", pattern, saltenv)
			}
		}
	}
	return nil
}

// listed returns the SLS that a pattern stands for, itself where the file server has none.
func (r *rendering) listed(ctx context.Context, pattern, saltenv string) ([]string, error) {
	known, err := r.have.any(ctx, saltenv)
	if err != nil {
		return nil, err
	}
	if !known {
		r.problem("No matching salt environment for environment '%s' found", saltenv)
		return []string{pattern}, nil
	}
	names, err := r.have.named(ctx, saltenv, pattern)
	if len(names) == 0 {
		names = []string{pattern}
	}
	return names, err
}

// noFile is what Salt says of an SLS whose file there is not.
const noFile = " is not available on the salt master or through a configured fileserver"

// sls renders an SLS and those it includes; what comes out may be no dictionary (salt/state.py, render_state).
func (r *rendering) sls(ctx context.Context, sls, saltenv string) (any, error) {
	url, file, err := r.c.files.State(ctx, sls, saltenv)
	if errors.Is(err, fileclient.ErrNotFound) {
		r.problem("Specified SLS %s in saltenv %s%s", sls, saltenv, noFile)
		r.explain(ctx, sls, saltenv)
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("SLS %s of saltenv %s: %w", sls, saltenv, err)
	}
	v, err := r.c.renderFile(ctx, file, render.Input{SaltEnv: saltenv, SLS: sls})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		r.broken(sls, saltenv, err)
	}
	r.done[saltenv+":"+sls] = true
	if !data.Truth(v) {
		return nil, nil
	}
	state, ok := v.(*data.Map)
	if !ok {
		r.problem("SLS %s does not render to a dictionary", sls)
		return v, nil
	}
	d := document{rendering: r, sls: sls, saltenv: saltenv, init: strings.HasSuffix(url, "/init.sls"), state: state}
	return state, d.handle(ctx)
}

// broken tells that an SLS does not render. Salt does not tell the line of a fault of YAML; the log does.
func (r *rendering) broken(sls, saltenv string, err error) {
	if e := (*render.Error)(nil); errors.As(err, &e) {
		r.problem("Rendering SLS '%s:%s' failed: %s", saltenv, sls, e.Error())
		text := r.errs[len(r.errs)-1]
		if e.Line > 0 && e.Source == "" {
			text += fmt.Sprintf("; line %d%s", e.Line, mend(e.Error()))
		}
		logging.Print(r.c.env().Log, logging.Critical, text)
		return
	}
	r.logged(logging.Critical, "Rendering SLS %s failed, render error: %v", sls, err)
}

// mend says what to do about a fault of YAML; "" for those whose text says it.
func mend(fault string) string {
	switch {
	case strings.HasSuffix(fault, "cannot start any token"):
		return "; indent with spaces, not tabs, and put text that begins with @, ` or % into quotes"
	case strings.Contains(fault, "did not find expected"):
		return "; what belongs together begins in the same column"
	}
	return ""
}

// mergeInto adds the ids of an SLS to high data; of an id that is there already the later counts
// (salt/state.py, merge_included_states).
func (r *rendering) mergeInto(high *data.Map, v any) {
	state, ok := v.(*data.Map)
	if !ok {
		if data.Truth(v) {
			r.problem("Error when rendering state with contents: %s", text(v))
		}
		return
	}
	for _, key := range []string{"__extend__", "__exclude__"} {
		if more, ok := state.Value(key).([]any); ok {
			old, _ := high.Value(key).([]any)
			high.Set(key, append(old, more...))
			state.Delete(key)
		}
	}
	for id, body := range state.All() {
		if old, ok := high.Get(id); ok && !data.Equal(old, body) {
			r.problem("Detected conflicting IDs, SLS IDs need to be globally unique.\n"+
				"    The conflicting ID is '%s' and is found in SLS '%s' and SLS '%s'", data.Str(id), origin(old), origin(body))
		}
	}
	high.Update(state)
}

// origin returns ENV:SLS of an id's body.
func origin(body any) string {
	m, _ := body.(*data.Map)
	return data.Str(m.Value("__env__")) + ":" + data.Str(m.Value("__sls__"))
}

// cleanExtends leaves each extension once, an id each (salt/state.py, clean_duplicate_extends).
func cleanExtends(high *data.Map) {
	list, ok := high.Value("__extend__").([]any)
	if !ok {
		return
	}
	clean := []any{}
	seen := data.NewMap()
	for _, item := range list {
		ext, _ := item.(*data.Map)
		for id, body := range ext.All() {
			if have, _ := seen.Value(id).([]any); !contains(have, body) {
				seen.Set(id, append(have, body))
				clean = append(clean, data.NewMap(id, body))
			}
		}
	}
	high.Set("__extend__", clean)
}

func contains(list []any, v any) bool {
	for _, item := range list {
		if data.Equal(item, v) {
			return true
		}
	}
	return false
}
