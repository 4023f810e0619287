package packages

import (
	"context"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// Names rejects names, patterns and paths that a package manager would misinterpret: as an option,
// such as -oAPT::..=command, or as several lines of its input. Salt passes them on.
func Names[T any](names ...T) error {
	for _, name := range names {
		text := data.Str(any(name))
		if strings.HasPrefix(text, "-") {
			return loader.Execution("'%s' is not a package name: it begins with a dash and would be read as an option", text)
		}
		if strings.ContainsAny(text, "\n\r\x00") {
			return loader.Execution("%q is not a package name: it has more than one line", text)
		}
	}
	return nil
}

// Normal returns the package manager's name of a package. It returns the name unchanged if
// normalize is false or the package manager makes no difference.
func Normal(
	ctx context.Context, env *loader.Env, name string, normalize bool,
) (string, error) {
	if !normalize || !env.Functions.Has("pkg.normalize_name") {
		return name, nil
	}
	return calls.NormalizeName(ctx, env, name)
}

// Packed is Repack for a list of packages, with normalized names and versions as texts; nil means
// any version. A list that names a package twice is an error.
func Packed(
	pkgs any, normal func(name string) (string, error),
) (packed *data.Map, wrong string, err error) {
	all, wrong := Repack(pkgs)
	if wrong != "" {
		return nil, wrong, nil
	}
	packed = &data.Map{}
	for name, version := range all.All() {
		bare, err := normal(data.Str(name))
		if err != nil {
			return nil, "", err
		}
		if version != nil {
			version = data.Str(version)
		}
		packed.Set(bare, version)
	}
	if list, ok := pkgs.([]any); ok && len(list) != packed.Len() {
		return nil, "", loader.Invocation("You are passing a list of packages that contains "+
			"duplicated packages names: %s. This cannot be processed. In case you are targeting "+
			"different versions of the same package, please target them individually",
			data.Repr(pkgs))
	}
	return packed, "", nil
}
