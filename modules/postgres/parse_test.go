package postgres

import (
	"testing"

	"github.com/brineproject/brine/data"
)

func TestParseACL(t *testing.T) {
	got := parseACL(`{postgres=ar*/postgres,=U/postgres,"\"a-b,c\"=X/postgres"}`)
	want := data.NewMap("postgres", data.NewMap("INSERT", false, "SELECT", true),
		"public", data.NewMap("USAGE", false), "a-b,c", data.NewMap("EXECUTE", false))
	if !data.Equal(got, want) {
		t.Errorf("got %s, want %s", data.Repr(got), data.Repr(want))
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{postgres=arwdDxt/postgres,=r*/postgres,"\"a b\"=X/p"}`)
	f.Add("a,b\n\"x\"\"y\",2\n")
	f.Fuzz(func(t *testing.T, text string) {
		if n := parseACL(text).Len(); n > len(text) {
			t.Fatalf("%q gives %d roles", text, n)
		}
		if rows, err := parseCSV(text); err == nil && len(rows) > len(text) {
			t.Fatalf("%q gives %d rows", text, len(rows))
		}
	})
}
