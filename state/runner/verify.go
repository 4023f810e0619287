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

// Verify returns what is wrong with a chunk: its form, its function, parameters that are missing, and requisites that name the chunk
// itself. It prepares the chunk for its run: umask is read, and what a module without mod_watch watches becomes a require
// (salt/state.py, verify_data).
func (r *Runner) Verify(low *data.Map) []string {
	var wrong []string
	for _, key := range []string{"state", "fun", "name"} {
		if !low.Has(key) {
			wrong = append(wrong, `Missing "`+key+`" data`)
		}
	}
	if name := low.Value("name"); data.Truth(name) {
		if _, ok := name.(string); !ok {
			wrong = append(wrong, fmt.Sprintf("ID '%s' %sis not formed as a string, but is a %s", data.Str(name), inSLS(low), loader.TypeName(name)))
		}
	}
	wrong = append(wrong, readUmask(low)...)
	if wrong != nil {
		return wrong
	}
	return append(r.verifyFunction(low), r.verifyRequisites(low)...)
}

func inSLS(low *data.Map) string {
	if sls, ok := low.Get("__sls__"); ok {
		return "in SLS '" + data.Str(sls) + "' "
	}
	return ""
}

// readUmask makes umask, an octal number, the key __umask__.
func readUmask(low *data.Map) []string {
	umask, ok := low.Get("umask")
	if !ok {
		return nil
	}
	low.Delete("umask")
	text := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(data.Str(umask))), "0o")
	n, err := strconv.ParseUint(text, 8, 31)
	if err != nil {
		return []string{"Invalid umask: " + data.Str(umask)}
	}
	low.Set("__umask__", int64(n))
	return nil
}

func (r *Runner) verifyFunction(low *data.Map) []string {
	full := function(low)
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

func (r *Runner) notFound(low *data.Map, full string) []string {
	sls, ok := low.Get("__sls__")
	if !ok {
		return []string{"Specified state '" + full + "' was not found"}
	}
	wrong := []string{
		fmt.Sprintf("State '%s' was not found in SLS '%s'", full, data.Str(sls)),
		"Reason: " + r.states.MissingText(full),
	}
	if hint := r.hint(full); hint != "" {
		wrong = append(wrong, hint)
	}
	return wrong
}

// verifyRequisites looks for a chunk that requires itself.
func (r *Runner) verifyRequisites(low *data.Map) []string {
	kind := "require"
	if low.Has("watch") {
		if r.states.Has(low.Text("state") + ".mod_watch") {
			kind = "watch"
		} else {
			becomes(low, "watch", "require")
		}
	}
	var wrong []string
	for _, item := range elements(low.Value(kind)) {
		req, ok := item.(*data.Map)
		if !ok || req.Len() == 0 {
			continue
		}
		if key, pattern := req.At(0); key == low.Value("state") && names(pattern, low) {
			wrong = append(wrong, fmt.Sprintf("Recursive require detected in SLS %s for require %s in ID %s",
				data.Str(low.Value("__sls__")), state.Text(req), data.Str(low.Value("__id__"))))
		}
	}
	return wrong
}

// names reports whether a pattern means a chunk.
func names(pattern any, low *data.Map) bool {
	p, ok := pattern.(string)
	return ok && (loader.Glob(p, low.Text("name")) || loader.Glob(p, low.Text("__id__")))
}

// own are the keys of chunks that are the runner's and not the function's.
var own = strings.Fields(`onchanges onchanges_any onfail onfail_any onfail_all onfail_stop prereq prerequired watch watch_any require
	require_any listen onchanges_in onfail_in prereq_in watch_in require_in listen_in fun state check_cmd cmd_opts_exclude failhard
	onlyif unless creates retry order parallel reload_modules reload_grains reload_pillar runas runas_password fire_event saltenv
	umask use use_in __env__ __sls__ __id__ __orchestration_jid__ __pub_user __pub_arg __pub_jid __pub_fun __pub_tgt __pub_ret
	__pub_pid __pub_tgt_type __prereq__ __prerequired__ __umask__`)

// bind returns the arguments of a chunk for its function: those that its parameters name, and where it takes **kwargs all that is
// not the runner's. Others are an error (salt/utils/args.py, format_call).
func bind(spec *loader.Spec, full string, low *data.Map) (*data.Map, error) {
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
		case spec.Has(key), ok && (slices.Contains(own, name) || strings.HasPrefix(name, "__pub_")):
		case ok && (spec.Kwargs != "" || slices.Contains(spec.KeywordOnly, name)):
			args.Set(key, v)
		default:
			extra = append(extra, "'"+data.Str(key)+"'")
		}
	}
	return args, invalid(extra, spec, full, low)
}

// invalid returns the error of keys that a function does not take: Salt's text, then the place of the chunk and what may be meant.
func invalid(extra []string, spec *loader.Spec, full string, low *data.Map) error {
	at := "ID '" + data.Str(low.Value("__id__")) + "' " + strings.TrimSpace(inSLS(low))
	switch n := len(extra); n {
	case 0:
		return nil
	case 1:
		if near := config.Nearest(strings.Trim(extra[0], "'"), arguments(spec)); near != "" {
			at += "; is '" + near + "' meant?"
		}
		return loader.Invocation("%s is an invalid keyword argument for '%s': %s", extra[0], full, at)
	default:
		return loader.Invocation("%s and %s are invalid keyword arguments for '%s': %s", strings.Join(extra[:n-1], ", "), extra[n-1], full, at)
	}
}
