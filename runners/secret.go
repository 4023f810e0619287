package runners

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Veil hides the secrets of one call from all but its caller: what parameters and fields hold that are secret by their
// names ([config.IsSecret]) or by the function's description, and these values wherever else they stand.
type Veil struct {
	spec   *loader.Spec
	args   []any // as they may be told
	named  bool  // an argument is the name of a secret
	values []string
}

// NewVeil returns what hides the secrets of a call.
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
	slices.SortFunc(v.values, func(a, b string) int { return len(b) - len(a) }) // the whole of one before a part
	v.args = v.text(v.args).([]any)
	return v
}

// VeilFor is NewVeil for a function of a shelf, which may be missing.
func VeilFor(functions *loader.Registry, fun string, args []any, kwargs *data.Map) *Veil {
	if f, ok := functions.Func(fun); ok {
		return NewVeil(f.Spec(), args, kwargs)
	}
	return NewVeil(&loader.Spec{}, args, kwargs)
}

// arg returns an argument as it may be told, and notes the secrets in it.
func (v *Veil) arg(name string, a any) any {
	text, isText := a.(string)
	v.named = v.named || isText && config.IsSecret(text)
	if word, value, ok := loader.ParseKwarg(text); isText && ok && v.secret(word) { // as salt-run has them before they are read
		v.values = append(v.values, value)
		return word + "=" + config.Hidden
	}
	if v.secret(name) {
		name = secretName
	}
	v.values = append(v.values, config.Secrets(data.NewMap(name, a))...)
	return config.Masked(name, a)
}

// secretName is one of which config says that it is that of a secret.
const secretName = "secret"

func (v *Veil) secret(name string) bool {
	return config.IsSecret(name) || slices.Contains(v.spec.Secrets, name)
}

// Args returns the arguments as events show them.
func (v *Veil) Args() []any { return v.args }

// Result returns a result as it may be told.
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

// hides reports whether the function's description names a field.
func (v *Veil) hides(field string) bool { return slices.Contains(v.spec.SecretResult, field) }

// fields hides the fields of a result that the function's description names.
func (v *Veil) fields(result any) any {
	m, ok := result.(*data.Map)
	if !ok || len(v.spec.SecretResult) == 0 {
		return result
	}
	told := &data.Map{}
	for k, e := range m.All() {
		if v.hides(data.Str(k)) || v.hides(loader.SecretAll) {
			e = config.Masked(secretName, e)
		}
		told.Set(k, v.fields(e))
	}
	return told
}

// text replaces the secret arguments in the texts of a value. Short ones are hidden only where they are the whole text.
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

// told returns the data of a call as events and job caches may have them.
func (v *Veil) told(d *data.Map) *data.Map {
	if v == nil {
		return d
	}
	d = d.Clone()
	d.Set("fun_args", v.Args())
	result, ok := d.Get("return")
	switch {
	case ok && d.Has("retcode"): // a fault, which says what was wrong with the call
		d.Set("return", v.text(config.Masked("", result)))
	case ok:
		d.Set("return", v.Result(result))
	}
	return d
}

// progress returns the body of an event that a function fires.
func (v *Veil) progress(body *data.Map) *data.Map {
	if v == nil {
		return body
	}
	m, _ := v.text(body).(*data.Map)
	return m
}
