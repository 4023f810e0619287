package pillar

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/render"
)

const malformed = `The "ext_pillar" option is malformed`

// A Source is an external pillar. Several goroutines may use it.
type Source interface {
	// Name is what the option ext_pillar calls it.
	Name() string
	// Pillar returns what it has for a minion; nil is nothing. The error is shown to the minion, so it must hold no secret.
	Pillar(ctx context.Context, q Query) (*data.Map, error)
}

// A Query asks a Source. Maps in it must not be changed.
type Query struct {
	ID              string
	Argument        any       // what stands behind the source's name in the option
	Grains          *data.Map // never nil
	Pillar          *data.Map // what was compiled so far
	Opts            *data.Map // options, with saltenv and pillarenv of the minion
	ExtraMinionData *data.Map // may be nil
	Engine          *render.Engine
	Files           Files
	Log             logrus.FieldLogger // never nil
}

// external merges external pillars over a pillar, in the order of the option (Pillar.ext_pillar).
func (w *compilation) external(ctx context.Context, pillar *data.Map) *data.Map {
	option, set := w.opts.Get("ext_pillar")
	if !set && w.Demand == nil {
		return pillar
	}
	list, ok := option.([]any)
	if !ok && option != nil {
		w.fail(malformed)
		return pillar
	}
	if w.demanded() {
		list = append(slices.Clip(list), w.Demand)
	}
	if w.Override.Len() > 0 {
		pillar = w.merge(pillar, w.Override)
	}
	excluded := fileserver.Strings(w.opts.Value("exclude_ext_pillar"))
	for _, entry := range list {
		m, ok := entry.(*data.Map)
		if !ok || m.Len() == 0 {
			w.fail(malformed)
			return data.NewMap()
		}
		if first, _ := m.At(0); slices.Contains(excluded, data.Str(first)) {
			continue
		}
		for name, argument := range m.All() {
			pillar = w.ask(ctx, pillar, data.Str(name), argument)
		}
	}
	return pillar
}

// demanded reports whether the minion asks for external pillars, and may.
func (w *compilation) demanded() bool {
	if w.Demand == nil {
		return false
	}
	allowed := fileserver.Strings(w.opts.Value("on_demand_ext_pillar"))
	for name := range w.Demand.All() {
		if !slices.Contains(allowed, data.Str(name)) {
			w.Log.Errorf("The ext_pillar module %s is not allowed for on-demand pillar data. Valid on-demand ext_pillar modules are: %s.",
				data.Str(name), strings.Join(allowed, ", "))
			return false
		}
	}
	return true
}

func (w *compilation) ask(ctx context.Context, pillar *data.Map, name string, argument any) *data.Map {
	s, ok := w.sources[name]
	if !ok {
		w.Log.Errorf("Specified ext_pillar interface %s is unavailable", name)
		return pillar
	}
	begin := time.Now()
	got, err := s.Pillar(ctx, Query{ID: w.ID, Argument: argument, Grains: w.Grains, Pillar: pillar, Opts: w.opts,
		ExtraMinionData: w.ExtraMinionData, Engine: w.engine, Files: w.files, Log: w.Log})
	w.timed("ext_pillar", name, begin)
	if err != nil {
		w.fail(fmt.Sprintf("Failed to load ext_pillar %s: %s", name, err))
		return pillar
	}
	if got.Len() == 0 {
		return pillar
	}
	return w.merge(pillar, got)
}
