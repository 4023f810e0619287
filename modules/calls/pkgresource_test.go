package calls

import (
	"context"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

func TestParseTargets(t *testing.T) {
	call := func(w Wanted) func(context.Context, *loader.Env) (any, error) {
		return func(ctx context.Context, env *loader.Env) (any, error) {
			got, err := ParseTargets(ctx, env, w)
			return []any{got.Packages.Clone(), data.Values(got.List), got.Type, got.Empty()}, err
		}
	}
	plain, sent := call(Wanted{Name: "a"}), "pkg_resource.parse_targets ['a', None] {}"
	checkClients(t, []clientCase{
		{plain, data.Tuple{data.NewMap("a", nil), "repository"}, sent,
			[]any{data.NewMap("a", nil), []any{}, "repository", false}, ""},
		{plain, data.Tuple{nil, nil}, sent, []any{data.NewMap(), []any{}, "", true}, ""},
		{plain, []any{[]any{"RHSA-1"}, "advisory"}, sent,
			[]any{data.NewMap(), []any{"RHSA-1"}, "advisory", false}, ""},
		{call(Wanted{Sources: []any{data.NewMap("a", "/a.deb")},
			More: data.NewMap("normalize", false)}), data.Tuple{[]any{"/a.deb"}, "file"},
			"pkg_resource.parse_targets [None, None, [{'a': '/a.deb'}]] {'normalize': False}",
			[]any{data.NewMap(), []any{"/a.deb"}, "file", false}, ""},
		{plain, data.NewMap(), sent, nil, "pkg_resource.parse_targets: returned dict, expected list"},
		{plain, data.Tuple{nil}, sent, nil,
			"pkg_resource.parse_targets: returned 1 values, expected packages and their type"},
		{plain, data.Tuple{"a", "advisory"}, sent, nil,
			"pkg_resource.parse_targets: returned packages of type str, expected dict or list"},
	})
}

// A package that cannot be downloaded fails a state with a message, as in Salt 3006.0, not with an
// exception.
func TestUnfetchableTargets(t *testing.T) {
	for class, want := range map[string]loader.Kind{"salt.exceptions.MinionError": loader.KindExecution, "KeyError": loader.KindException} {
		env, _ := recordingEnv(nil, loader.Exception(class, "no file"))
		_, err := ParseTargets(t.Context(), env, Wanted{})
		if err == nil || err.Error() != "no file" || loader.KindOf(err) != want {
			t.Errorf("%s: got %v of kind %v, want kind %v", class, err, loader.KindOf(err), want)
		}
	}
}

func TestPkgResource(t *testing.T) {
	format := func(ctx context.Context, env *loader.Env) (any, error) {
		return FormatPkgList(ctx, env, data.NewMap("a", []any{}), true, nil)
	}
	clean := func(ctx context.Context, env *loader.Env) (any, error) { return VersionClean(ctx, env, 1.5) }
	pack := func(ctx context.Context, env *loader.Env) (any, error) { return PackSources(ctx, env, []any{}, false) }
	checkClients(t, []clientCase{
		{format, data.NewMap("a", []any{}),
			"pkg_resource.format_pkg_list [{'a': []}, True, None] {}", data.NewMap("a", []any{}), ""},
		{format, []any{}, "pkg_resource.format_pkg_list [{'a': []}, True, None] {}", nil,
			"pkg_resource.format_pkg_list: returned list, expected dict"},
		{clean, 1.5, "pkg_resource.version_clean [1.5] {}", "1.5", ""},
		{clean, nil, "pkg_resource.version_clean [1.5] {}", "", ""},
		{pack, data.NewMap("a", "/a"), "pkg_resource.pack_sources [[]] {'normalize': False}",
			data.NewMap("a", "/a"), ""},
		{func(ctx context.Context, env *loader.Env) (any, error) {
			return CheckExtraRequirements(ctx, env, "a", "1")
		},
			true, "pkg_resource.check_extra_requirements ['a', '1'] {}", true, ""},
	})
}
