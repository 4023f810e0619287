package runner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// hint says which function is meant by one that there is not; "" where none is near.
func (r *Runner) hint(full string) string {
	if !strings.HasSuffix(r.states.MissingText(full), "is not available.") { // it is there, and does not work on this host
		return ""
	}
	functions := slices.DeleteFunc(r.states.Names(), func(name string) bool { return strings.Contains(name, ".mod_") })
	if near := config.Nearest(full, functions); near != "" {
		return "Is '" + near + "' meant?"
	}
	return ""
}

// arguments are what a state may be given: the parameters of its function and the runner's own.
func arguments(spec *loader.Spec) []string {
	names := slices.Clone(spec.KeywordOnly)
	for _, p := range spec.Params {
		names = append(names, p.Name)
	}
	return append(names, slices.DeleteFunc(slices.Clone(own), notWritten)...)
}

// notWritten reports whether a key of chunks is none that users write, or one that is like what they write for others.
func notWritten(key string) bool {
	return strings.HasPrefix(key, "__") || key == "fun" || key == "state" || key == "use" || key == "use_in"
}

// doubts returns what is odd in the arguments of a chunk: words that a function with **kwargs takes, knows nothing of, and which are
// like ones that it knows. Salt passes them over. Where there is a template, such words are variables of it.
func doubts(spec *loader.Spec, full string, low *data.Map) []string {
	if spec.Kwargs == "" || data.Truth(low.Value("template")) {
		return nil
	}
	known := arguments(spec)
	var odd []string
	for key := range low.All() {
		name, ok := key.(string)
		if !ok || spec.Has(key) || slices.Contains(own, name) || slices.Contains(known, name) || strings.HasPrefix(name, "__") {
			continue
		}
		if near := config.Nearest(name, known); near != "" {
			odd = append(odd, fmt.Sprintf("'%s' is no argument of %s; is '%s' meant?", name, full, near))
		}
	}
	return odd
}

// doubt tells the log what is odd in the arguments of a chunk, and where that is. The result stays as Salt has it.
func (r *Runner) doubt(t *task) {
	if t.try > 1 {
		return
	}
	for _, text := range doubts(t.spec, t.full, t.low) {
		r.env.Log.Warnf("ID '%s' %s: %s", data.Str(t.low.Value("__id__")), strings.TrimSpace(inSLS(t.low)), text)
	}
}
