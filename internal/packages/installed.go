package packages

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// installedKey is the key of the installed packages in the context of a job.
const installedKey = "pkg.list_pkgs"

// Installed implements pkg.list_pkgs: versions by package, as lists or comma-separated texts. read
// returns the lists; it is called once a job, unless fresh is true or Forget was called since.
func Installed(
	ctx context.Context, asList, fresh bool, read func() (*data.Map, error),
) (*data.Map, error) {
	v, ok := loader.ContextOf(ctx).Get(installedKey)
	if !ok || fresh {
		all, err := read()
		if err != nil {
			return nil, err
		}
		Sort(all)
		loader.ContextOf(ctx).Set(installedKey, all)
		v = all
	}
	all := data.Clone(v).(*data.Map)
	if !asList {
		Stringify(all)
	}
	return all, nil
}

// Forget makes Installed read the packages again.
func Forget(ctx context.Context) { loader.ContextOf(ctx).Delete(installedKey) }

// Changed calls act, and returns the changes of list's result. Errors that act reports become an
// error with the text failure, which includes the changes.
func Changed(
	ctx context.Context, failure string, list func() (*data.Map, error),
	act func() (wrong []any, err error),
) (any, error) {
	before, err := list()
	if err != nil {
		return nil, err
	}
	wrong, err := act()
	if err != nil {
		return nil, err
	}
	Forget(ctx)
	after, err := list()
	if err != nil {
		return nil, err
	}
	changes := Changes(before, after)
	if len(wrong) > 0 {
		return nil, loader.ExecutionInfo(failure, data.NewMap("errors", wrong, "changes", changes))
	}
	return changes, nil
}
