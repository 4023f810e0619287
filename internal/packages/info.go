package packages

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

// InfoInstalled implements pkg.info_installed on systems with RPM: the result of lowpkg.info, with
// the source of each package under pkg's name for it.
func InfoInstalled(
	ctx context.Context, env *loader.Env, names []any, kwargs *data.Map,
) (*data.Map, error) {
	info, err := calls.PackageInfo(ctx, env, names, kwargs)
	if err != nil {
		return nil, err
	}
	all := &data.Map{}
	for name, v := range info.All() {
		versions, isList := v.([]any) // all_versions
		if !isList {
			versions = []any{v}
		}
		list := make([]any, len(versions))
		for i, one := range versions {
			p, ok := one.(*data.Map)
			if !ok {
				return nil, fmt.Errorf("lowpkg.info: returned %s for %s, expected dict",
					loader.TypeName(one), data.Str(name))
			}
			list[i] = withSource(p)
		}
		if isList {
			all.Set(name, list)
		} else {
			all.Set(name, list[0])
		}
	}
	return all, nil
}

// withSource renames the fields of a package to pkg's names.
func withSource(p *data.Map) *data.Map {
	out := &data.Map{}
	for k, v := range p.All() {
		if k == "source_rpm" {
			k = "source"
		}
		out.Set(k, v)
	}
	return out
}
