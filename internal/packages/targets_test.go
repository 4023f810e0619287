package packages_test

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

// TestTargets checks that a package that cannot be downloaded fails a state with a text, as in Salt 3006.0, and not as an exception.
func TestTargets(t *testing.T) {
	for class, want := range map[string]loader.Kind{"salt.exceptions.MinionError": loader.KindExecution, "KeyError": loader.KindException} {
		env := &loader.Env{Call: func(context.Context, string, []any, *data.Map) (any, error) {
			return nil, loader.Exception(class, "no file")
		}}
		_, err := packages.Targets(t.Context(), env, nil, nil)
		if err == nil || err.Error() != "no file" || loader.KindOf(err) != want {
			t.Errorf("%s: got %v of kind %v, want kind %v", class, err, loader.KindOf(err), want)
		}
	}
}
