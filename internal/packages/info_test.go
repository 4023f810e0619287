package packages_test

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

func TestInfoInstalled(t *testing.T) {
	one := func(source string) *data.Map { return data.NewMap("version", "1", source, "bash.src.rpm") }
	for _, c := range []struct {
		info any
		want any
		err  string
	}{
		{data.NewMap("bash", one("source_rpm")), data.NewMap("bash", one("source")), ""},
		{data.NewMap("bash", []any{one("source_rpm")}), data.NewMap("bash", []any{one("source")}), ""},
		{nil, &data.Map{}, ""},
		{data.NewMap("bash", "1"), nil, "lowpkg.info: returned str for bash, expected dict"},
		{data.NewMap("bash", []any{"1"}), nil, "lowpkg.info: returned str for bash, expected dict"},
	} {
		env := &loader.Env{Call: func(context.Context, string, []any, *data.Map) (any, error) { return c.info, nil }}
		got, err := packages.InfoInstalled(t.Context(), env, []any{"bash"}, nil)
		if err == nil && (c.err != "" || !data.Equal(got, c.want)) || err != nil && err.Error() != c.err {
			t.Errorf("%s becomes %s, %v", data.Repr(c.info), data.Repr(got), err)
		}
	}
}
