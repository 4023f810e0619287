package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
)

// hint returns a hint with the function closest to an unknown one, or "" if none is close.
func (r *Runner) hint(full string) string {
	// it exists but does not work here
	if _, refused := r.states.Refusal(full); refused {
		return ""
	}
	functions := slices.DeleteFunc(r.states.Names(),
		func(name string) bool { return strings.Contains(name, ".mod_") })
	if near := config.Nearest(full, functions); near != "" {
		return "Is '" + near + "' meant?"
	}
	return ""
}

// arguments returns the arguments that a state accepts: the parameters of its function and the
// runner's own.
func arguments(spec *loader.Spec) []string {
	names := slices.Clone(spec.KeywordOnly)
	for _, p := range spec.Params {
		names = append(names, p.Name)
	}
	return append(names, slices.DeleteFunc(slices.Clone(runnerKeys), notSuggested)...)
}

// notSuggested reports whether a key of chunks is not meant for users, or is too easily confused
// with other arguments to be a useful suggestion.
func notSuggested(key string) bool {
	return strings.HasPrefix(key, "__") || key == "fun" || key == "state" || key == "use" ||
		key == "use_in"
}

// suspicious returns warnings about arguments of a chunk that are probably misspelt: those that
// only **kwargs accepts and that resemble a known argument. Salt ignores them. With a template,
// such arguments are its variables and are not checked.
func suspicious(spec *loader.Spec, full string, low state.Chunk) []string {
	if spec.Kwargs == "" || data.Truth(low.Value("template")) {
		return nil
	}
	known := arguments(spec)
	var odd []string
	for key := range low.All() {
		name, ok := key.(string)
		if !ok || spec.Has(key) || slices.Contains(runnerKeys, name) ||
			slices.Contains(known, name) || strings.HasPrefix(name, "__") {
			continue
		}
		if near := config.Nearest(name, known); near != "" {
			odd = append(odd, fmt.Sprintf("'%s' is not an argument of %s; is '%s' meant?",
				name, full, near))
		}
	}
	return odd
}

// warnSuspicious logs the probably misspelt arguments of a chunk with their location. The result is
// not affected.
func (r *Runner) warnSuspicious(t *task) {
	if t.try > 1 {
		return
	}
	for _, text := range suspicious(t.spec, t.full, t.low) {
		r.env.Log.Warnf("%s: %s", location(t.low), text)
	}
}
