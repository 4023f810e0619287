package packages_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/packages"
	"github.com/brineproject/brine/loader"
)

func TestFetched(t *testing.T) {
	for _, c := range []struct {
		answer    any
		path, err string
	}{
		{"/cache/a", "/cache/a", ""}, {"", "", ""}, {false, "", ""}, {nil, "", ""},
		{[]any{}, "", "cp.cache_file: returned list, expected str"},
	} {
		env := &loader.Env{Call: func(_ context.Context, fun string, args []any, _ *data.Map) (any, error) {
			if fun != "cp.cache_file" || data.Repr(args) != "['salt://a', 'base']" {
				t.Errorf("called %s %s", fun, data.Repr(args))
			}
			return c.answer, nil
		}}
		path, err := packages.Fetched(t.Context(), env, "salt://a", "base")
		if path != c.path || err == nil && c.err != "" || err != nil && err.Error() != c.err {
			t.Errorf("answer %s: %q, %v", data.Repr(c.answer), path, err)
		}
	}
}

func TestLocal(t *testing.T) {
	missing := errors.New("no such file")
	for _, c := range []struct {
		remote bool
		cached any
		here   error
		path   string
		err    string
	}{
		{false, nil, nil, "/a.rpm", ""},
		{false, nil, missing, "/a.rpm", "no such file"},
		{true, "/cache/a.rpm", missing, "/cache/a.rpm", ""},
		{true, false, nil, "", "Unable to retrieve /a.rpm from saltenv 'base'"},
	} {
		env := &loader.Env{Call: func(_ context.Context, fun string, _ []any, _ *data.Map) (any, error) {
			if fun == "config.valid_fileproto" {
				return c.remote, nil
			}
			return c.cached, nil
		}}
		path, err := packages.Local(t.Context(), env, "/a.rpm", "base", func() error { return c.here })
		if path != c.path || err == nil && c.err != "" || err != nil && err.Error() != c.err {
			t.Errorf("%+v: %q, %v", c, path, err)
		}
	}
}

func TestPacked(t *testing.T) {
	bare := func(name string) (string, error) { return strings.TrimSuffix(name, ":amd64"), nil }
	for _, c := range []struct {
		pkgs       any
		want       string
		wrong, bad bool
	}{
		{[]any{"a:amd64", data.NewMap("b", 1.5)}, "{'a': None, 'b': '1.5'}", false, false},
		{[]any{"a:amd64", "a"}, "", false, true},
		{[]any{[]any{}}, "", true, false},
	} {
		got, wrong, err := packages.Packed(c.pkgs, bare)
		if (wrong != "") != c.wrong || (err != nil) != c.bad || c.want != "" && data.Repr(got) != c.want {
			t.Errorf("%s: %s, %q, %v", data.Repr(c.pkgs), data.Repr(got), wrong, err)
		}
	}
}
