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

// An override is the pillar that a call brings along.
type override struct {
	pillar any // a dictionary, or with enc what decrypts to one; nil has none
	enc    any // renderer that decrypts it; nil has none
}

// noOverride is for calls that take none.
func noOverride(*data.Map) (override, error) { return override{}, nil }

// plainOverride reads the argument pillar alone.
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

// pillarOf returns the pillar of a call: a fresh one with what the call brings over it. salt-call, which has just fetched
// it, goes on with that where the call asks for no other (salt/state.py, State.__init__).
func (m *module) pillarOf(ctx context.Context, h *highState, o override) (*data.Map, error) {
	known := m.env.PillarNow()
	if m.env.Option("__cli") == "salt-call" && data.Equal(h.env.Option("pillarenv"), m.env.Option("pillarenv")) && known.Len() > 0 && !data.Truth(o.pillar) {
		return known, nil
	}
	over := h.clear(rendering(ctx), o)
	p, err := m.gather(rendering(ctx), h, over)
	if err != nil || over.Len() == 0 {
		return p, err
	}
	return pillar.Override(p, over, h.env.Opts), nil
}

// clear returns an override as a dictionary, nil when it is none; why is in the log (salt/state.py, State._gather_pillar).
func (h *highState) clear(ctx context.Context, o override) *data.Map {
	if !data.Truth(o.pillar) {
		return nil
	}
	v := o.pillar
	if o.enc != nil {
		clear, err := h.engine.Decrypt(ctx, v, render.Input{Default: strings.ToLower(data.Str(o.enc)), TranslateNewlines: true})
		if err != nil {
			h.env.Log.Errorf("Failed to decrypt pillar override: %v", err)
		} else {
			v = clear
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

// pillarErrors returns what was wrong with the pillar; a call with force does not ask
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

// gather asks for the pillar under the environments of a call. Where there is nobody who compiles it, that of now stays.
func (m *module) gather(ctx context.Context, h *highState, over *data.Map) (*data.Map, error) {
	if m.env.Host.CompilePillar == nil {
		return m.env.PillarNow(), nil
	}
	return m.env.Host.CompilePillar(ctx, loader.PillarQuery{SaltEnv: text(h.env.Option("saltenv")), PillarEnv: text(h.env.Option("pillarenv")), Override: over})
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return data.Str(v)
}
