package runners

import (
	"fmt"
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// internal reports whether a field of a low chunk is never an argument (salt/client/mixins.py,
// CLIENT_INTERNAL_KEYWORDS).
func internal(field any) bool {
	name, ok := field.(string)
	return ok && slices.Contains([]string{"client", "cmd", "eauth", "fun", "kwarg", "match",
		"token", "__jid__", "__tag__", "__user__", "username", "password", "full_return",
		"print_event"}, name)
}

// FromLow returns the arguments in a low chunk: the fields arg and kwarg if both are present, else
// the fields named like a parameter (salt/utils/args.py, format_call). name is the function's name
// in errors.
func FromLow(
	spec *loader.Spec, name string, low *data.Map,
) (args []any, kwargs *data.Map, err error) {
	if low.Has("arg") && low.Has("kwarg") {
		return argAndKwarg(low)
	}
	kwargs = &data.Map{}
	var missing []string
	for _, p := range spec.Params {
		v, given := low.Get(p.Name)
		switch {
		case given && p.Required:
			args = append(args, v)
		case given:
			kwargs.Set(p.Name, v)
		case p.Required:
			missing = append(missing, p.Name)
		default:
			kwargs.Set(p.Name, data.Clone(p.Default))
		}
	}
	if len(missing) > 0 {
		return nil, nil, tooFew(spec, len(args), len(args)+len(missing))
	}
	return args, kwargs, extraKwargs(spec, name, low, kwargs)
}

func argAndKwarg(low *data.Map) ([]any, *data.Map, error) {
	args, isList := low.Value("arg").([]any)
	kwargs, isMap := low.Value("kwarg").(*data.Map)
	if !isList && low.Value("arg") != nil || !isMap && low.Value("kwarg") != nil {
		return nil, nil, loader.Invocation("arg must be a list and kwarg a dictionary")
	}
	return args, kwargs.Clone(), nil
}

func tooFew(spec *loader.Spec, given, want int) error {
	plural, name := "s", spec.Name
	if want == 1 {
		plural = ""
	}
	if spec.Def != "" {
		name = spec.Def
	}
	return loader.Invocation("%s takes at least %d argument%s (%d given)", name, want,
		plural, given)
}

// extraKwargs passes the fields without a parameter to **kwargs, or rejects them.
func extraKwargs(spec *loader.Spec, name string, low, kwargs *data.Map) error {
	var extra []string
	for k, v := range low.All() {
		word := data.Str(k)
		switch {
		case spec.Has(k) || internal(k):
		case spec.Kwargs != "":
			kwargs.Set(word, v)
		default:
			extra = append(extra, "'"+word+"'")
		}
	}
	switch n := len(extra); n {
	case 0:
		return nil
	case 1:
		return loader.Invocation("%s is an invalid keyword argument for '%s'", extra[0], name)
	default:
		return loader.Invocation("%s",
			fmt.Sprintf("%s and %s are invalid keyword arguments for '%s'",
				strings.Join(extra[:n-1], ", "), extra[n-1], name))
	}
}
