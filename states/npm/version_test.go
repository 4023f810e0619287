package npm

import (
	"os"
	"slices"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

// testdata/ranges.json has the versions that the semver of npm 11.19 finds in ranges.
func TestRanges(t *testing.T) {
	src, err := os.ReadFile("testdata/ranges.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := pyjson.Load(string(src))
	if err != nil {
		t.Fatal(err)
	}
	all := v.(*data.Map)
	for spec, v := range all.Value("ranges").(*data.Map).All() {
		want := data.TextsOf(v)
		for _, version := range data.TextsOf(all.Value("versions")) {
			is, known := satisfies(version, data.Str(spec))
			if !known || is != slices.Contains(want, version) {
				t.Errorf("%s in %s: %v, %v", version, spec, is, known)
			}
		}
	}
	for _, spec := range []string{"latest", "user/repo", "1.2 next", "npm:other@1"} {
		if is, known := satisfies("1.2.3", spec); is || known {
			t.Errorf("%s: %v, %v", spec, is, known)
		}
	}
}

func TestPlaces(t *testing.T) {
	installed := data.NewMap("tool", data.NewMap("version", "1.0.0", "resolved",
		"git+ssh://git@github.com/someone/tool.git#0123456789abcdef"))
	for place, want := range map[string]fit{"someone/tool": fits, "github:someone/tool#v1": fits,
		"https://github.com/someone/tool": fits, "git+https://github.com/someone/tool.git": fits,
		"git@github.com:someone/tool.git": fits, "tool@someone/tool": fits, "tool@1": fits, "tool": fits,
		"gitlab:someone/tool": unclear, "./tool.tgz": unclear, "someone/other": unclear, "tool@next": unclear,
		"tool@2": absent, "other": absent} {
		if found, got := satisfying(place, installed); got != want || got == fits && found != "tool@1.0.0" {
			t.Errorf("%s: %s, %v, want %v", place, found, got, want)
		}
	}
}

func FuzzSatisfies(f *testing.F) {
	f.Add("1.2.3-rc.1", "^1.2.3-beta || 1 - 2 || ~0.x")
	f.Fuzz(func(t *testing.T, version, spec string) {
		if is, known := satisfies(version, spec); is && !known {
			t.Errorf("%q is in %q, which is not known", version, spec)
		}
		plain(spec)
	})
}
