package state

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/render"
	"github.com/brineproject/brine/yaml"
)

// An override is the pillar data that a call passes.
type override struct {
	pillar any // a dictionary, or with enc a text that decrypts to one; nil for none
	enc    any // the renderer that decrypts it; nil for none
}

// noOverride is the reader of functions that accept no pillar.
func noOverride(*data.Map) (override, error) { return override{}, nil }

// plainOverride reads the argument pillar and ignores pillar_enc.
func plainOverride(kwargs *data.Map) (override, error) {
	o, err := overrideOf(kwargs)
	o.enc = nil
	return o, err
}

// overrideOf reads the arguments pillar and pillar_enc.
func overrideOf(kwargs *data.Map) (override, error) {
	o := override{pillar: kwargs.Value("pillar"), enc: kwargs.Value("pillar_enc")}
	if _, ok := o.pillar.(*data.Map); !ok && o.pillar != nil && o.enc == nil {
		return o, loader.Invocation("Pillar data must be formatted as a dictionary, unless pillar_enc is specified.")
	}
	return o, nil
}

// pillarOf returns the pillar of a call: freshly compiled, with the override on top. salt-call has
// just fetched the pillar and reuses it, unless the call passes pillar data or another pillarenv
// (salt/state.py, State.__init__).
func (m *module) pillarOf(ctx context.Context, h *highState, o override) (*data.Map, error) {
	known := m.env.PillarNow()
	if m.env.Option("__cli") == "salt-call" &&
		data.Equal(h.env.Option("pillarenv"), m.env.Option("pillarenv")) && known.Len() > 0 &&
		!data.Truth(o.pillar) {
		return known, nil
	}
	return m.freshPillar(ctx, h, o)
}

// freshPillar returns the pillar of a call, freshly compiled, with the override on top.
func (m *module) freshPillar(ctx context.Context, h *highState, o override) (*data.Map, error) {
	over := h.decodeOverride(rendering(ctx), o)
	p, err := m.gather(rendering(ctx), h, over)
	if err != nil || over.Len() == 0 {
		return p, err
	}
	return pillar.Override(p, over, h.env.Opts), nil
}

// decodeOverride decrypts and parses an override. It returns nil and logs the reason if the result
// is no dictionary (salt/state.py, State._gather_pillar).
func (h *highState) decodeOverride(ctx context.Context, o override) *data.Map {
	if !data.Truth(o.pillar) {
		return nil
	}
	v := o.pillar
	if o.enc != nil {
		decrypted, err := h.engine.Decrypt(ctx, v,
			render.Input{Default: strings.ToLower(data.Str(o.enc)), TranslateNewlines: true})
		if err != nil {
			h.env.Log.Errorf("Failed to decrypt pillar override: %v", err)
		} else {
			v = decrypted
		}
	}
	if s, ok := v.(string); ok {
		doc, err := yaml.Load([]byte(s), yaml.Options{})
		if err != nil {
			h.env.Log.Errorf("Failed to load CLI pillar override: %v", err)
		} else {
			v = doc
		}
	}
	over, ok := v.(*data.Map)
	if !ok {
		h.env.Log.Error("Pillar override was not passed as a dictionary")
	}
	return over
}

// pillarErrors returns the errors of the pillar. A call with force ignores them
// (salt/modules/state.py, _get_pillar_errors).
func (m *module) pillarErrors(h *highState, kwargs *data.Map) []any {
	if data.Truth(kwargs.Value("force")) {
		return nil
	}
	p := h.pillar
	if p.Len() == 0 {
		p = m.env.PillarNow()
	}
	list, _ := p.Value("_errors").([]any)
	return list
}

// gather compiles the pillar in the environments of a call. If the host cannot compile one, gather
// returns the current pillar.
func (m *module) gather(ctx context.Context, h *highState, over *data.Map) (*data.Map, error) {
	if m.env.Host.CompilePillar == nil {
		return m.env.PillarNow(), nil
	}
	return m.env.Host.CompilePillar(ctx,
		loader.PillarQuery{SaltEnv: text(h.env.Option("saltenv")),
			PillarEnv: text(h.env.Option("pillarenv")), Override: over})
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return data.Str(v)
}
