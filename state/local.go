package state

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/render"
)

// Local returns the unverified high data of an SLS file on this host, and a list of problems. The
// file may include SLS from the environment saltenv (salt/state.py, render_state with local).
func (c *Compiler) Local(ctx context.Context, file, saltenv string) (*data.Map, []string, error) {
	r := &rendering{c: c, available: c.avail(), matches: data.NewMap(), done: map[string]bool{},
		order: firstOrder, high: data.NewMap()}
	if info, err := os.Stat(file); err != nil || info.IsDir() {
		return nil, []string{"Specified SLS " + file + " on local filesystem cannot be found."}, nil
	}
	d := r.document(file, saltenv)
	v, err := c.renderFile(ctx, file, render.Input{SaltEnv: saltenv, SLS: file})
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err != nil {
		d.renderFailed(err)
	}
	state, ok := v.(*data.Map)
	if !ok {
		if data.Truth(v) {
			d.problem("SLS %s does not render to a dictionary", file)
		}
		return data.NewMap(), messages(d.list), nil
	}
	d.state = state
	if err := d.process(ctx); err != nil {
		return nil, nil, err
	}
	conflicts := mergeInto(r.high, state)
	return r.high, messages(append(d.list, conflicts...)), nil
}

// templateName is the name that problem messages use for a template given as a string.
const templateName = "<template-str>"

// Template returns the high data of an SLS given as a string, and a list of problems. The SLS may
// not include, exclude or extend anything (salt/state.py, call_template_str and render_template).
// The high data is nil if the template renders to an empty value.
func (c *Compiler) Template(ctx context.Context, text string) (*data.Map, []string, error) {
	v, err := c.engine.Render(ctx, render.Input{Text: text})
	if err != nil || !data.Truth(v) {
		return nil, nil, err
	}
	high, ok := v.(*data.Map)
	if !ok {
		return nil, []string{"Template " + templateName + " does not render to a dictionary"}, nil
	}
	for _, item := range []string{"include", "exclude", "extends"} {
		if high.Has(item) {
			return nil, []string{"The '" + item + "' declaration found on '" + templateName +
				"' is invalid when rendering single templates"}, nil
		}
	}
	var problems []string
	for id, v := range high.All() {
		switch body := v.(type) {
		case *data.Map:
			problems = append(problems, padTemplate(data.Str(id), body)...)
		case string:
			module, fun, ok := strings.Cut(body, ".")
			if !ok {
				problems = append(problems, "ID "+data.Str(id)+" in template "+templateName+
					" is not a dictionary")
				continue
			}
			high.Set(id, data.NewMap(module, []any{fun}))
		}
	}
	return high, problems, nil
}

// padTemplate converts dotted declarations to lists and returns the problems.
func padTemplate(id string, body *data.Map) (problems []string) {
	seen := map[string]bool{}
	names := keyTexts(body)
	slices.Sort(names)
	for _, key := range names {
		if strings.HasPrefix(key, "_") {
			continue
		}
		if body.Value(key) == nil {
			problems = append(problems, "ID '"+id+"' in template "+templateName+
				" contains a short declaration ("+key+") with a trailing colon. "+
				"When not passing any arguments to a state, the colon must be omitted.")
			continue
		}
		list, ok := body.Value(key).([]any)
		if !ok {
			continue
		}
		module, fun, dotted := strings.Cut(key, ".")
		if dotted && seen[module] {
			problems = append(problems, "ID '"+id+"' in template '"+templateName+
				"' contains multiple state declarations of the same type")
			continue
		}
		if dotted {
			body.Delete(key)
			body.Set(module, append(slices.Clone(list), fun))
		}
		seen[module] = true
	}
	return problems
}

func keyTexts(m *data.Map) []string {
	var names []string
	for key := range m.All() {
		if name, ok := key.(string); ok {
			names = append(names, name)
		}
	}
	return names
}
