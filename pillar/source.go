package pillar

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/render"
)

const malformed = `The "ext_pillar" option is malformed`

// A Source is an external pillar. Several goroutines may use it.
type Source interface {
	// Name is its name in the option ext_pillar.
	Name() string
	// Pillar returns the data for a minion; nil means none. The minion sees the error, so it must
	// not contain secrets.
	Pillar(ctx context.Context, q Query) (*data.Map, error)
}

// An OnDemandChecker is a Source that restricts what minions may request from it, regardless of
// on_demand_ext_pillar.
type OnDemandChecker interface {
	Source
	// CheckOnDemand returns why a minion may not request an argument, without the argument's
	// content; nil if it may.
	CheckOnDemand(argument any, opts *data.Map) error
}

// A Query is a request to a Source. Maps in it must not be changed.
type Query struct {
	ID              string
	Argument        any       // the value after the source's name in the option
	Grains          *data.Map // never nil
	Pillar          *data.Map // as compiled so far
	Opts            *data.Map // options, with saltenv and pillarenv of the minion
	ExtraMinionData *data.Map // may be nil
	Engine          *render.Engine
	Files           Files
	Log             logrus.FieldLogger // never nil
	// Compile compiles the SLS of other files for the same minion, in one environment and without
	// external pillars.
	Compile func(ctx context.Context, env string, files Files) (*data.Map, error)
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
	if w.below.Len() > 0 {
		pillar = w.merge(pillar, w.below)
	}
	excluded := data.TextsOf(w.opts.Value("exclude_ext_pillar"))
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

// demanded reports whether the minion requests external pillars and may do so
// (Pillar.__valid_on_demand_ext_pillar).
func (w *compilation) demanded() bool {
	if w.Demand == nil {
		return false
	}
	option, set := w.opts.Get("on_demand_ext_pillar")
	switch option.(type) {
	case []any, data.Tuple, *data.Map, string:
	default:
		if set {
			w.Log.Error("The 'on_demand_ext_pillar' configuration option is malformed, it should be a list of ext_pillar module names")
			return false
		}
	}
	allowed := data.TextsOf(option)
	var refused []string
	for name := range w.Demand.All() {
		if !slices.Contains(allowed, data.Str(name)) {
			refused = append(refused, data.Str(name))
		}
	}
	if len(refused) == 0 {
		return w.harmless()
	}
	slices.Sort(refused)
	w.Log.Errorf("The following ext_pillar modules are not allowed for on-demand pillar data: %s. Valid on-demand ext_pillar modules are: %s. "+
		"The valid modules can be adjusted by setting the 'on_demand_ext_pillar' config option.",
		strings.Join(refused, ", "), strings.Join(allowed, ", "))
	return false
}

// harmless reports whether the sources accept the minion's request.
func (w *compilation) harmless() bool {
	for name, argument := range w.Demand.All() {
		listed, _ := w.source(data.Str(name))
		s, ok := listed.(OnDemandChecker)
		if !ok {
			continue
		}
		if err := s.CheckOnDemand(argument, w.opts); err != nil {
			w.Log.Errorf("The ext_pillar module %s is not for on-demand pillar data of %s: %s",
				s.Name(), w.ID, err)
			return false
		}
	}
	return true
}

func (w *compilation) ask(
	ctx context.Context, pillar *data.Map, name string, argument any,
) *data.Map {
	if ctx.Err() != nil {
		return pillar // the compilation was cancelled
	}
	s, ok := w.source(name)
	if !ok {
		logging.Print(w.Log, logging.Critical, fmt.Sprintf("Specified ext_pillar interface %s is unavailable", name))
		return pillar
	}
	begin := time.Now()
	seen := pillar
	if w.below.Len() == 0 {
		seen = w.applyOverride(pillar)
	}
	got, err := s.Pillar(ctx, Query{ID: w.ID, Argument: argument, Grains: w.Grains, Pillar: seen,
		Opts: w.opts, ExtraMinionData: w.ExtraMinionData, Engine: w.engine, Files: w.files,
		Log: w.Log, Compile: w.other})
	w.timed("ext_pillar", name, begin)
	if err != nil {
		if e, ok := errors.AsType[*loader.Error](err); ok {
			w.Log.Errorf("Exception caught loading ext_pillar '%s':\n%s", name, loader.Traceback(e))
		}
		w.fail(fmt.Sprintf("Failed to load ext_pillar %s: %s", name, err))
		return pillar
	}
	if got.Len() == 0 {
		return pillar
	}
	return w.merge(pillar, got)
}
