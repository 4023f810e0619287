package runner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/state"
)

// Verify checks a chunk and returns the problems: an invalid form, an unknown function, missing
// parameters, and requisites that reference the chunk itself (salt/state.py, verify_data).
func (r *Runner) Verify(low state.Chunk) []string {
	var wrong []string
	for _, key := range []string{"state", "fun", "name"} {
		if !low.Has(key) {
			wrong = append(wrong, `Missing "`+key+`" data`)
		}
	}
	if name := low.Name(); data.Truth(name) {
		if _, ok := name.(string); !ok {
			wrong = append(wrong, fmt.Sprintf("ID '%s' %sis not formed as a string, but is a %s",
				data.Str(name), inSLS(low), loader.TypeName(name)))
		}
	}
	if umask, ok := low.Get("umask"); ok {
		if _, err := parseUmask(umask); err != nil {
			wrong = append(wrong, "Invalid umask: "+data.Str(umask))
		}
	}
	if wrong != nil {
		return wrong
	}
	return append(r.verifyFunction(low), r.verifyRequisites(low)...)
}

// location returns the ID and the SLS of a chunk for log lines and errors.
func location(low state.Chunk) string {
	return "ID '" + data.Str(low.ID()) + "' " + strings.TrimSpace(inSLS(low))
}

func inSLS(low state.Chunk) string {
	if low.HasSLS() {
		return "in SLS '" + data.Str(low.SLS()) + "' "
	}
	return ""
}

// prepare brings a chunk into the form in which it runs: it replaces umask by the key __umask__, a
// number, and turns watch into require if the module has no mod_watch.
func (r *Runner) prepare(low state.Chunk) {
	if umask, ok := low.Get("umask"); ok {
		low.Delete("umask")
		if n, err := parseUmask(umask); err == nil {
			low.Set("__umask__", int64(n))
		}
	}
	r.replaceWatch(low)
}

// parseUmask parses an octal number.
func parseUmask(umask any) (uint64, error) {
	text := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(data.Str(umask))), "0o")
	return strconv.ParseUint(text, 8, 31)
}

func (r *Runner) verifyFunction(low state.Chunk) []string {
	full := low.Function()
	f, ok := r.states.Func(full)
	if !ok {
		return r.notFound(low, full)
	}
	var wrong []string
	for _, p := range f.Spec().Params {
		if p.Required && !low.Has(p.Name) {
			wrong = append(wrong, fmt.Sprintf("Missing parameter %s for state %s", p.Name, full))
		}
	}
	return wrong
}

func (r *Runner) notFound(low state.Chunk, full string) []string {
	if !low.HasSLS() {
		wrong := []string{"Specified state '" + full + "' was not found"}
		if _, refused := r.states.Refusal(full); refused { // Salt logs the reason only
			wrong = append(wrong, "Reason: "+r.states.MissingText(full))
		}
		return wrong
	}
	wrong := []string{
		fmt.Sprintf("State '%s' was not found in SLS '%s'", full, data.Str(low.SLS())),
		"Reason: " + r.states.MissingText(full),
	}
	if hint := r.hint(full); hint != "" {
		wrong = append(wrong, hint)
	}
	return wrong
}

// verifyRequisites reports a chunk that requires itself.
func (r *Runner) verifyRequisites(low state.Chunk) []string {
	required := elements(low.Value("require"))
	if low.Has("watch") {
		watched := elements(low.Value("watch"))
		if r.states.Has(low.State() + ".mod_watch") {
			required = watched
		} else {
			required = slices.Concat(required, watched)
		}
	}
	var wrong []string
	for _, item := range required {
		req, ok := item.(*data.Map)
		if !ok || req.Len() == 0 {
			continue
		}
		key, target := req.At(0)
		pattern, ok := target.(string)
		if ok && key == low.State() && matchesChunk(pattern, low) {
			wrong = append(wrong, fmt.Sprintf("Recursive require detected in SLS %s for require %s in ID %s",
				data.Str(low.SLS()), state.Text(req), data.Str(low.ID())))
		}
	}
	return wrong
}

// runnerKeys are the keys of chunks that belong to the runner and not to the function.
var runnerKeys = strings.Fields(`onchanges onchanges_any onfail onfail_any onfail_all onfail_stop prereq prerequired watch watch_any require
	require_any listen onchanges_in onfail_in prereq_in watch_in require_in listen_in fun state check_cmd cmd_opts_exclude failhard
	onlyif unless creates retry order parallel reload_modules reload_grains reload_pillar runas runas_password fire_event saltenv
	umask use use_in __env__ __sls__ __id__ __orchestration_jid__ __pub_user __pub_arg __pub_jid __pub_fun __pub_tgt __pub_ret
	__pub_pid __pub_tgt_type __prereq__ __prerequired__ __umask__`)

// bind returns the arguments of a chunk for its function: those that match its parameters and, if
// it takes **kwargs, all others except the runner's. Any other key is an error (salt/utils/args.py,
// format_call).
func bind(spec *loader.Spec, full string, low state.Chunk) (*data.Map, error) {
	args := &data.Map{}
	var extra []string
	for _, p := range spec.Params {
		if v, ok := low.Get(p.Name); ok {
			args.Set(p.Name, v)
		}
	}
	for key, v := range low.All() {
		name, ok := key.(string)
		switch {
		case spec.Has(key), ok && (slices.Contains(runnerKeys, name) ||
			strings.HasPrefix(name, "__pub_")):
		case ok && (spec.Kwargs != "" || slices.Contains(spec.KeywordOnly, name)):
			args.Set(key, v)
		default:
			extra = append(extra, "'"+data.Str(key)+"'")
		}
	}
	return args, invalid(extra, spec, full, low)
}

// invalid returns the error for keys that a function does not accept. It has Salt's text, the
// location of the chunk and, for a single key, the closest known argument.
func invalid(extra []string, spec *loader.Spec, full string, low state.Chunk) error {
	if len(extra) == 0 {
		return nil
	}
	at := location(low)
	switch n := len(extra); n {
	case 1:
		if near := config.Nearest(strings.Trim(extra[0], "'"), arguments(spec)); near != "" {
			at += "; is '" + near + "' meant?"
		}
		return loader.Invocation("%s is an invalid keyword argument for '%s': %s",
			extra[0], full, at)
	default:
		return loader.Invocation("%s and %s are invalid keyword arguments for '%s': %s",
			strings.Join(extra[:n-1], ", "), extra[n-1], full, at)
	}
}
