package calls

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// A Wanted has the arguments of a function of pkg that name packages. Sources that are nil are not
// passed on.
type Wanted struct {
	Name, Pkgs, Sources any
	More                *data.Map // further arguments by name, such as version and normalize
}

// A Targets is the packages that a Wanted names. At most one of Packages and List is set.
type Targets struct {
	Packages *data.Map // type repository: versions by name, nil for any version
	List     []string  // type file: paths of package files; type advisory: identifiers
	Type     string    // repository, file or advisory; "" for no packages
}

// Empty reports whether there are no packages.
func (t Targets) Empty() bool { return t.Packages.Len() == 0 && len(t.List) == 0 }

// ParseTargets calls pkg_resource.parse_targets and returns the packages that are meant. A file
// that cannot be fetched is an execution error, as in Salt's package managers, so that its text
// becomes the result of a state.
func ParseTargets(ctx context.Context, env *loader.Env, w Wanted) (Targets, error) {
	const fun = "pkg_resource.parse_targets"
	args := []any{w.Name, w.Pkgs}
	if w.Sources != nil {
		args = append(args, w.Sources)
	}
	pair, err := loader.CallAs[[]any](ctx, env, fun, args, w.More)
	var known *loader.Error
	switch {
	case errors.As(err, &known) && known.Class == "salt.exceptions.MinionError":
		return Targets{}, loader.Execution("%s", known.Text)
	case err != nil:
		return Targets{}, err
	case len(pair) != 2:
		return Targets{}, fmt.Errorf("%s: returned %d values, expected packages and their type",
			fun, len(pair))
	}
	t := Targets{Type: Text(pair[1])}
	switch pkgs := pair[0].(type) {
	case nil:
	case *data.Map:
		t.Packages = pkgs
	case []any:
		t.List = data.Texts(pkgs)
	default:
		return Targets{}, fmt.Errorf("%s: returned packages of type %s, expected dict or list",
			fun, loader.TypeName(pkgs))
	}
	return t, nil
}

// FormatPkgList calls pkg_resource.format_pkg_list and returns the result for pkg.list_pkgs: for
// each package the versions as one string or as a list, or the attributes named by attr.
func FormatPkgList(
	ctx context.Context, env *loader.Env, pkgs *data.Map, asLists bool, attr any,
) (*data.Map, error) {
	args := []any{pkgs, asLists, attr}
	return loader.CallAs[*data.Map](ctx, env, "pkg_resource.format_pkg_list", args, nil)
}

// CheckExtraRequirements calls pkg_resource.check_extra_requirements and reports whether an
// installed package meets the requirements other than its version.
func CheckExtraRequirements(
	ctx context.Context, env *loader.Env, name string, version any,
) (bool, error) {
	const fun = "pkg_resource.check_extra_requirements"
	return loader.CallAs[bool](ctx, env, fun, []any{name, version}, nil)
}

// VersionClean calls pkg_resource.version_clean and returns a version without the parts that the
// package manager adds, or "". A number, as an SLS may have it, is converted to a string.
func VersionClean(ctx context.Context, env *loader.Env, version any) (string, error) {
	v, err := loader.CallAs[any](ctx, env, "pkg_resource.version_clean", []any{version}, nil)
	return Text(v), err
}

// PackSources calls pkg_resource.pack_sources and returns files by package name.
func PackSources(
	ctx context.Context, env *loader.Env, sources any, normalize bool,
) (*data.Map, error) {
	kwargs := data.NewMap("normalize", normalize)
	return dictionary(ctx, env, "pkg_resource.pack_sources", []any{sources}, kwargs)
}
