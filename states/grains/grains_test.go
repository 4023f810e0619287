package grains_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testroot"
)

func list(values ...any) []any { return values }

// The comments are those of Salt 3006.0.
func TestGrains(t *testing.T) {
	r := testroot.Plain(t)
	is := func(comment string) testroot.Step { return testroot.Step{Result: true, Comment: comment} }
	would := func(changes *data.Map, comment string) testroot.Step {
		return testroot.Step{Changes: changes, Comment: comment}
	}
	done := func(changes *data.Map, comment string) testroot.Step {
		return testroot.Step{Result: true, Changes: changes, Comment: comment}
	}
	r.Converges(t, "grains.present", data.NewMap("name", "tree|kind", "value", "oak", "delimiter", "|"),
		would(data.NewMap("new", "tree:kind"), "Grain tree:kind is set to be added"),
		done(data.NewMap("tree", data.NewMap("kind", "oak")), "Set grain tree:kind to oak"),
		is("Grain is already set"))
	r.Converges(t, "grains.present", data.NewMap("name", "tree:kind", "value", "elm"),
		would(data.NewMap("changed", data.NewMap("tree:kind", "elm")),
			"Grain tree:kind is set to be changed"),
		done(data.NewMap("tree", data.NewMap("kind", "elm")), "Set grain tree:kind to elm"),
		is("Grain is already set"))
	r.Converges(t, "grains.list_present", data.NewMap("name", "roles", "value", list("web", "db")),
		would(data.NewMap("new", ""), "Grain roles is set to be added"),
		done(data.NewMap("new", data.NewMap("roles", list("web", "db"))),
			"Append value ['web', 'db'] to grain roles"),
		is("Value ['web', 'db'] is already in grain roles"))
	r.Converges(t, "grains.list_present", data.NewMap("name", "roles", "value", list("web", "mail")),
		would(data.NewMap("new", list("web", "db")),
			"Value ['web', 'mail'] is set to be appended to grain roles"),
		done(data.NewMap("new", data.NewMap("roles", list("web", "db", "mail"))),
			"Append value ['web', 'mail'] to grain roles"),
		is("Value ['web', 'mail'] is already in grain roles"))
	mixed := data.NewMap("deleted", list("db", "mail"))
	r.Converges(t, "grains.list_absent", data.NewMap("name", "roles", "value", list("db", "cache", "mail")),
		would(mixed, "Value db in grain roles is set to be deleted\nValue cache is absent from grain roles\nValue mail in grain roles is set to be deleted"),
		done(mixed, "Value db was deleted from grain roles\nValue cache is absent from grain roles\nValue mail was deleted from grain roles"),
		is("Value db is absent from grain roles\nValue cache is absent from grain roles\nValue mail is absent from grain roles"))
	r.Call(t, "grains.setval", "cheese", "edam")
	r.Converges(t, "grains.append", data.NewMap("name", "cheese", "value", "brie", "convert", true),
		would(data.NewMap("added", "brie"),
			"Grain cheese is set to be converted to list and value brie will be added"),
		done(data.NewMap("added", "brie"), "Value brie was added to grain cheese"),
		is("Value brie is already in the list for grain cheese"))
	r.Converges(t, "grains.append", data.NewMap("name", "cheese", "value", "feta"),
		would(data.NewMap("added", "feta"), "Value feta in grain cheese is set to be added"),
		done(data.NewMap("added", "feta"), "Value feta was added to grain cheese"),
		is("Value feta is already in the list for grain cheese"))
	r.Converges(t, "grains.absent", data.NewMap("name", "roles", "destructive", true, "force", true),
		would(data.NewMap("deleted", "roles"), "Grain roles is set to be deleted"),
		done(data.NewMap("deleted", "roles"), "Grain roles was deleted"), is("Grain roles does not exist"))
	r.Expect(t, false, "grains.list_absent", data.NewMap("name", "none", "value", "x"),
		is("Grain none does not exist"))
	r.Expect(t, false, "grains.absent", data.NewMap("name", "none"), is("Grain none does not exist"))
}

// Without destructive the grain is kept with the value None. As in Salt, test mode has no comment
// for a grain that is None.
func TestAbsentLeavesNone(t *testing.T) {
	r := testroot.Plain(t)
	r.Call(t, "grains.setval", "cheese", "edam")
	args, gone := data.NewMap("name", "cheese"), data.NewMap("grain", "cheese", "value", nil)
	r.Expect(t, true, "grains.absent", args,
		testroot.Step{Changes: gone, Comment: "Value for grain cheese is set to be deleted (None)"})
	r.Expect(t, false, "grains.absent", args,
		testroot.Step{Result: true, Changes: gone, Comment: "Value for grain cheese was set to None"})
	r.Expect(t, false, "grains.absent", args, testroot.Step{Result: true, Comment: "Grain is already set"})
	r.Expect(t, true, "grains.absent", args, testroot.Step{})
}

func TestInvalidCalls(t *testing.T) {
	r := testroot.Plain(t)
	r.Call(t, "grains.setval", "roles", list("web"))
	r.Call(t, "grains.setval", "cheese", "edam")
	for _, c := range []struct {
		fun     string
		args    *data.Map
		comment string
	}{
		{"present", data.NewMap("name", "roles", "value", "x"),
			"The key 'roles' exists but is a dict or a list. Use 'force=True' to overwrite."},
		{"absent", data.NewMap("name", "roles", "destructive", true),
			"The key 'roles' exists but is a dict or a list. Use 'force=True' to overwrite."},
		{"list_present", data.NewMap("name", "cheese", "value", "x"), "Grain cheese is not a valid list"},
		{"list_absent", data.NewMap("name", "cheese", "value", "x"), "Grain cheese is not a valid list"},
		{"append", data.NewMap("name", "cheese", "value", "x"), "Grain cheese is not a valid list"},
		{"append", data.NewMap("name", "none", "value", "x"), "Grain none does not exist"},
		{"exists", data.NewMap("name", "none"), "Grain does not exist"},
	} {
		r.Expect(t, false, "grains."+c.fun, c.args, testroot.Step{Result: false, Comment: c.comment})
	}
	if got := r.Call(t, "grains.get", "roles"); !data.Equal(got, list("web")) {
		t.Errorf("roles have become %s", data.Repr(got))
	}
}
