package state

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/render"
)

// firstOrder is the order of the first state without an explicit one.
const firstOrder = 10000

// A problem is one message about the states that were compiled.
type problem struct {
	text    string
	missing string // the SLS that does not exist, as ENV:SLS; "" for other problems
}

// problemList collects the problems of one SLS and its includes, in Salt's order.
type problemList struct {
	log  logrus.FieldLogger
	list []problem
}

func (p *problemList) problem(format string, args ...any) {
	p.list = append(p.list, problem{text: fmt.Sprintf(format, args...)})
}

// logProblem is problem for messages that Salt also logs.
func (p *problemList) logProblem(level logging.Level, format string, args ...any) {
	p.problem(format, args...)
	logging.Print(p.log, level, p.list[len(p.list)-1].text)
}

// rendering is the state of compiling one set of high data.
type rendering struct {
	c         *Compiler
	available *avail
	matches   *data.Map
	done      map[string]bool // rendered SLS, as ENV:SLS
	order     int64           // order of the next state without an explicit one
	high      *data.Map
	errs      []string
}

// Render returns the unverified high data of some SLS, and a list of problems. matches is
// environment → list of names or globs (salt/state.py, render_highstate).
func (c *Compiler) Render(ctx context.Context, matches *data.Map) (*data.Map, []string, error) {
	r := &rendering{c: c, available: c.avail(), matches: matches, done: map[string]bool{},
		order: firstOrder, high: data.NewMap()}
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

// matched renders the SLS that match one entry of the matches.
func (r *rendering) matched(ctx context.Context, pattern, saltenv string) error {
	names, err := r.listed(ctx, pattern, saltenv)
	if err != nil {
		return err
	}
	for _, sls := range names {
		if r.done[saltenv+":"+sls] {
			continue
		}
		state, found, err := r.sls(ctx, sls, saltenv)
		if err != nil {
			return err
		}
		for _, p := range append(found, mergeInto(r.high, state)...) {
			if p.missing == saltenv+":"+pattern {
				p.text = fmt.Sprintf("No matching sls found for '%s' in env '%s'", pattern, saltenv)
			}
			r.errs = append(r.errs, p.text)
		}
	}
	return nil
}

// listed returns the SLS that match a pattern, or the pattern itself if the file server has none.
func (r *rendering) listed(ctx context.Context, pattern, saltenv string) ([]string, error) {
	known, err := r.available.hasOrDynamic(ctx, saltenv)
	if err != nil {
		return nil, err
	}
	if !known {
		r.errs = append(r.errs, "No matching salt environment for environment '"+saltenv+"' found")
		return []string{pattern}, nil
	}
	names, err := r.available.matching(ctx, saltenv, pattern)
	if len(names) == 0 {
		names = []string{pattern}
	}
	return names, err
}

// noFile is the end of Salt's message for a missing SLS.
const noFile = " is not available on the salt master or through a configured fileserver"

// sls renders an SLS and its includes, and returns their problems. The result is not necessarily a
// dictionary (salt/state.py, render_state).
func (r *rendering) sls(ctx context.Context, sls, saltenv string) (any, []problem, error) {
	d := r.document(sls, saltenv)
	state, err := d.render(ctx)
	return state, d.list, err
}

func (r *rendering) document(sls, saltenv string) *document {
	return &document{problemList: problemList{log: r.c.env().Log}, rendering: r, sls: sls,
		saltenv: saltenv}
}

// render renders the SLS and its includes.
func (d *document) render(ctx context.Context) (any, error) {
	r, sls, saltenv := d.rendering, d.sls, d.saltenv
	url, file, err := r.c.files.State(ctx, sls, saltenv)
	if errors.Is(err, fileclient.ErrNotFound) {
		d.list = append(d.list, problem{missing: saltenv + ":" + sls,
			text: fmt.Sprintf("Specified SLS %s in saltenv %s%s", sls, saltenv, noFile)})
		r.hintMissing(ctx, sls, saltenv)
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("fetch SLS %s of saltenv %s: %w", sls, saltenv, err)
	}
	v, err := r.c.renderFile(ctx, file, render.Input{SaltEnv: saltenv, SLS: sls})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		d.renderFailed(err)
	}
	r.done[saltenv+":"+sls] = true
	if !data.Truth(v) {
		return nil, nil
	}
	state, ok := v.(*data.Map)
	if !ok {
		d.problem("SLS %s does not render to a dictionary", sls)
		return v, nil
	}
	d.init, d.state = strings.HasSuffix(url, "/init.sls"), state
	return state, d.process(ctx)
}

// renderFailed reports that an SLS does not render. Salt's message has no line number for a YAML
// error; the log entry adds it.
func (d *document) renderFailed(err error) {
	if e := (*render.Error)(nil); errors.As(err, &e) {
		d.problem("Rendering SLS '%s:%s' failed: %s", d.saltenv, d.sls, e.Error())
		text := d.list[len(d.list)-1].text
		if e.Line > 0 && e.Source == "" {
			text += fmt.Sprintf("; line %d%s", e.Line, yamlAdvice(e.Error()))
		}
		logging.Print(d.log, logging.Critical, text)
		return
	}
	d.logProblem(logging.Critical, "Rendering SLS %s failed, render error: %v", d.sls, err)
	if e, ok := errors.AsType[*render.Exception](err); ok {
		d.list[len(d.list)-1].text += "\n" + e.Traceback()
	}
}

// yamlAdvice returns a hint how to fix a YAML error, or "" if the message is clear enough.
func yamlAdvice(fault string) string {
	switch {
	case strings.HasSuffix(fault, "cannot start any token"):
		return "; indent with spaces, not tabs, and put text that begins with @, ` or % into quotes"
	case strings.Contains(fault, "did not find expected"):
		return "; start items of the same level in the same column"
	}
	return ""
}

// messages returns the texts of problems.
func messages(list []problem) []string {
	var texts []string
	for _, p := range list {
		texts = append(texts, p.text)
	}
	return texts
}

// mergeInto adds the IDs of an SLS to high data and returns conflicts. For a duplicate ID the later
// one wins (salt/state.py, merge_included_states).
func mergeInto(high *data.Map, v any) []problem {
	var found problemList
	state, ok := v.(*data.Map)
	if !ok {
		if data.Truth(v) {
			found.problem("Error when rendering state with contents: %s", Text(v))
		}
		return found.list
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
			found.problem("Detected conflicting IDs, SLS IDs need to be globally unique.\n"+
				"    The conflicting ID is '%s' and is found in SLS '%s' and SLS '%s'",
				data.Str(id), origin(old), origin(body))
		}
	}
	high.Update(state)
	return found.list
}

// origin returns ENV:SLS of the body of an ID.
func origin(body any) string {
	m, _ := body.(*data.Map)
	return data.Str(m.Value("__env__")) + ":" + data.Str(m.Value("__sls__"))
}

// cleanExtends removes duplicate extensions and splits them into one entry per ID (salt/state.py,
// clean_duplicate_extends).
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
