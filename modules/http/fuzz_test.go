package http

import (
	"testing"

	"github.com/brineproject/brine/data"
)

func FuzzElements(f *testing.F) {
	for _, src := range []string{"<r/>", "<r><a>1</a><a><b/></a></r>", "<r",
		"<?xml version='1.0' encoding='x'?><r>&lt;</r>", "<a/><b/>"} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if list, err := elements(src); err == nil {
			_ = data.Repr(list)
		}
	})
}

// FuzzCookies checks that written cookies are read back unchanged.
func FuzzCookies(f *testing.F) {
	for _, src := range []string{
		lwpHead + `Set-Cookie3: last="v w"; path="/"; domain="127.0.0.1"; path_spec; expires="2038-01-01 00:00:00Z"; HttpOnly=None; version=0` + "\n",
		mozillaHead + "#HttpOnly_.example.com\tTRUE\t/\tTRUE\t2145916800\tlast\tv w\n", lwpHead +
			`Set-Cookie3: a="\"; b=`, lwpHead + "Set-Cookie3: ,;= ,",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if all, err := parseLWP(src); err == nil {
			text := lwp(all)
			again, err := parseLWP(text)
			if err != nil || lwp(again) != text {
				t.Fatalf("%q became %q, %v", text, lwp(again), err)
			}
		}
		if all, err := parseMozilla(src); err == nil {
			_ = mozilla(all)
		}
	})
}
