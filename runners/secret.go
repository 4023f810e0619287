package runners

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Veil hides the secrets of one call from everyone but its caller. Secrets are the values of
// parameters and fields that are secret by name ([config.IsSecret]) or by the function's
// description; these values are also hidden elsewhere.
type Veil struct {
	spec   *loader.Spec
	args   []any // with secrets replaced
	named  bool  // an argument is named like a secret
	values []string
}

// NewVeil returns the Veil of a call.
func NewVeil(spec *loader.Spec, args []any, kwargs *data.Map) *Veil {
	v := &Veil{spec: spec, args: []any{}}
	for i, a := range args {
		name := ""
		if i < len(spec.Params) {
			name = spec.Params[i].Name
		}
		v.args = append(v.args, v.arg(name, a))
	}
	if kwargs.Len() > 0 {
		words := &data.Map{}
		for k, a := range kwargs.All() {
			words.Set(k, v.arg(data.Str(k), a))
		}
		v.args = append(v.args, words)
	}
	// the longest first, so that no part replaces a piece of a longer one
	slices.SortFunc(v.values, func(a, b string) int { return len(b) - len(a) })
	v.args = v.text(v.args).([]any)
	return v
}

// VeilFor is NewVeil for a function of a registry, which may be missing.
func VeilFor(functions *loader.Registry, fun string, args []any, kwargs *data.Map) *Veil {
	if f, ok := functions.Func(fun); ok {
		return NewVeil(f.Spec(), args, kwargs)
	}
	return NewVeil(&loader.Spec{}, args, kwargs)
}

// arg returns an argument with secrets replaced, and records the secrets in it.
func (v *Veil) arg(name string, a any) any {
	text, isText := a.(string)
	v.named = v.named || isText && config.IsSecret(text)
	// salt-run's arguments before they are parsed
	if word, value, ok := loader.ParseKwarg(text); isText && ok && v.secret(word) {
		v.values = append(v.values, value)
		return word + "=" + config.Hidden
	}
	if v.secret(name) {
		name = secretName
	}
	v.values = append(v.values, config.Secrets(data.NewMap(name, a))...)
	return config.Masked(name, a)
}

// secretName is a name that config.IsSecret accepts.
const secretName = "secret"

func (v *Veil) secret(name string) bool {
	return config.IsSecret(name) || slices.Contains(v.spec.Secrets, name)
}

// Args returns the arguments in the form of events.
func (v *Veil) Args() []any { return v.args }

// Result returns a result with secrets replaced.
func (v *Veil) Result(result any) any {
	if v.spec.SecretResult != nil {
		name := ""
		if _, isMap := result.(*data.Map); v.named || v.hides(loader.SecretAll) && !isMap {
			name = secretName
		}
		result = v.fields(config.Masked(name, result))
	}
	return v.text(result)
}

// hides reports whether the function's description names a field as secret.
func (v *Veil) hides(field string) bool { return slices.Contains(v.spec.SecretResult, field) }

// fields hides the fields of a result that the function's description names.
func (v *Veil) fields(result any) any {
	m, ok := result.(*data.Map)
	if !ok || len(v.spec.SecretResult) == 0 {
		return result
	}
	redacted := &data.Map{}
	for k, e := range m.All() {
		if v.hides(data.Str(k)) || v.hides(loader.SecretAll) {
			e = config.Masked(secretName, e)
		}
		redacted.Set(k, v.fields(e))
	}
	return redacted
}

// text replaces the secret arguments in the texts of a value. Short ones are replaced only if they
// are the whole text.
func (v *Veil) text(value any) any {
	if len(v.values) == 0 {
		return value
	}
	switch e := value.(type) {
	case *data.Map:
		m := &data.Map{}
		for k, in := range e.All() {
			m.Set(v.text(k), v.text(in))
		}
		return m
	case []any:
		list := make([]any, len(e))
		for i := range e {
			list[i] = v.text(e[i])
		}
		return list
	case string:
		return v.line(e)
	}
	return value
}

func (v *Veil) line(text string) string {
	for _, secret := range v.values {
		switch {
		case text == secret:
			return config.Hidden
		case len(secret) >= 4:
			text = strings.ReplaceAll(text, secret, config.Hidden)
		}
	}
	return text
}

// redacted returns the data of a call for events and job caches.
func (v *Veil) redacted(d *data.Map) *data.Map {
	if v == nil {
		return d
	}
	d = d.Clone()
	d.Set("fun_args", v.Args())
	result, ok := d.Get("return")
	switch {
	case ok && d.Has("retcode"): // an error, whose text may quote the arguments
		d.Set("return", v.text(config.Masked("", result)))
	case ok:
		d.Set("return", v.Result(result))
	}
	return d
}

// progress returns the body of an event that a function fires, with secrets replaced.
func (v *Veil) progress(body *data.Map) *data.Map {
	if v == nil {
		return body
	}
	m, _ := v.text(body).(*data.Map)
	return m
}
