package locale

import (
	"testing"

	"github.com/brineproject/brine/data"
)

// The output of localectl of systemd 252 and 219, and the results of Salt 3006.0 for it.
func TestParseStatus(t *testing.T) {
	text := "System Locale: LANG=de_DE.utf8\n                  LANGUAGE=de_DE.utf8\n    VC Keymap: n/a\n      X11 Layout: us\n       X11 Model: pc105\n"
	want := data.NewMap("system_locale", data.NewMap("LANG", "de_DE.utf8", "LANGUAGE",
		"de_DE.utf8"), "vc_keymap", data.NewMap("data", nil),
		"x11_layout", data.NewMap("data", "us"), "x11_model", data.NewMap("data", "pc105"))
	if got := parseStatus(text); !data.Equal(got, want) {
		t.Errorf("it returned %s", data.Repr(got))
	}
}

func TestNames(t *testing.T) {
	for s, want := range map[string][2]string{"ca_ES.UTF-8@valencia UTF-8": {"ca_ES.UTF-8@valencia UTF-8", "ca_ES.utf8@valencia"}, "de_de": {"de_de", "de_DE"}, "C": {"C", "C"}} {
		if n := parse(s); n.String() != want[0] || n.normal() != want[1] {
			t.Errorf("%q returned %q, %q", s, n, n.normal())
		}
	}
}

func FuzzStatus(f *testing.F) {
	f.Add("System Locale: LANG=C\n    VC Keymap: n/a\n", "de_DE.UTF-8")
	f.Add(": =\n: x\n: y=", "a b")
	f.Fuzz(func(t *testing.T, text, locale string) {
		parseStatus(text)
		_ = parse(locale).normal()
	})
}
