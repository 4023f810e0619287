package rpm

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
)

// The cases are those of RPM's own tests (tests/rpmvercmp.at).
const cases = `1.0 1.0 0;1.0 2.0 -1;2.0 1.0 1;2.0.1 2.0.1 0;2.0 2.0.1 -1;2.0.1a 2.0.1a 0;2.0.1a 2.0.1 1;5.5p1 5.5p2 -1;5.5p10 5.5p1 1;10xyz 10.1xyz -1
xyz10 xyz10.1 -1;xyz.4 8 -1;8 xyz.4 1;xyz.4 2 -1;5.5p2 5.6p1 -1;5.6p1 6.5p1 -1;6.0.rc1 6.0 1;10b2 10a1 1;10a2 10b2 -1;1.0aa 1.0a 1;10.0001 10.1 0
10.0001 10.0039 -1;4.999.9 5.0 -1;20101121 20101122 -1;2_0 2.0 0;2.0 2_0 0;a a 0;a+ a_ 0;a+ +a 0;+_ _+ 0;+ _ 0;1.0~rc1 1.0 -1;1.0~rc1 1.0~rc2 -1
1.0~rc1~git123 1.0~rc1 -1;1.0^ 1.0 1;1.0 1.0^ -1;1.0^git1 1.0^git2 -1;1.0^git1 1.01 -1;1.0^20160101 1.0.1 -1;1.0^20160102 1.0^20160101^git1 1
1.0~rc1^git1 1.0~rc1 1;1.0^git1~pre 1.0^git1 -1;1.0^git1 1.0^git1~pre 1;1b.fc17 1b.fc17 0;1g.fc17 1.fc17 1;1.fc17 1g.fc17 -1;1.1.α 1.1.β 0;1..0 1.0 0`

func TestCompare(t *testing.T) {
	for _, line := range strings.FieldsFunc(cases, func(r rune) bool { return r == ';' || r == '\n' }) {
		var a, b string
		var want int
		if _, err := fmt.Sscan(line, &a, &b, &want); err != nil {
			t.Fatal(line, err)
		}
		if got := Compare(a, b); got != want || Compare(b, a) != -want {
			t.Errorf("%s and %s give %d, want %d", a, b, got, want)
		}
	}
}

func TestCompareEVR(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"1:1.0-1", "2.0-1", 1}, {"0:1.0", "1.0-5", 0}, {"1.0-1.el8", "1.0-1.el9", -1}, {"x:1",
			"1", 0}, {"", "0:", 0}, {"2:1.0-1", "10:1.0-1", -1},
		{"1.0-1-2", "1.0-1-3", -1},
	} {
		if got := CompareEVR(tt.a, tt.b); got != tt.want || CompareEVR(tt.b, tt.a) != -tt.want {
			t.Errorf("%s and %s give %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// byRPM compares versions with the program rpm itself, many at once.
func byRPM(t *testing.T, pairs [][2]string) []string {
	t.Helper()
	need.Program(t, "rpm")
	var lua strings.Builder
	for _, p := range pairs {
		fmt.Fprintf(&lua, "print(rpm.vercmp([==[%s]==], [==[%s]==]) .. ' ')", p[0], p[1])
	}
	out, err := exec.Command("rpm", "--eval", "%{lua: "+lua.String()+"}").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

func TestCompareAsRPM(t *testing.T) {
	words := strings.Fields("1 1.0 1.0~rc1 1.0^git1 1.0.1 1a 1.a a 01 001.2 1.0~ 1.0^ ~1 ^1 1.0~^ 1.0^~ 10 9 a1 a01 1_0 1.0.0 rc1 1.0rc1 1-1 1.0+b 1.00 1.0~~ 1.0^^ 1.é 20101122 ~~ ^^ a~ a^ 1.B 1.b")
	var pairs [][2]string
	for _, a := range words {
		for _, b := range words {
			if !strings.Contains(a+b, "-") { // rpm.vercmp would part these
				pairs = append(pairs, [2]string{a, b})
			}
		}
	}
	got := byRPM(t, pairs)
	if len(got) != len(pairs) {
		t.Fatalf("rpm gives %d answers of %d", len(got), len(pairs))
	}
	for i, p := range pairs {
		if want := fmt.Sprint(Compare(p[0], p[1])); got[i] != want {
			t.Errorf("%s and %s are %s to rpm, and %s here", p[0], p[1], got[i], want)
		}
	}
}

func TestParse(t *testing.T) {
	for line, want := range map[string]Info{
		"python-urlgrabber_|-(none)_|-3.10_|-8.el7_|-noarch_|-(none)_|-1487838471": {"python-urlgrabber", "3.10-8.el7", "noarch", "(none)", "2017-02-23T08:27:51Z", int64(1487838471)},
		"alsa-lib_|-0_|-1.1.1_|-1.el7_|-x86_64_|-(none)_|-0": {"alsa-lib",
			"1.1.1-1.el7", "x86_64", "(none)", nil, nil},
		"dbus_|-1_|-1.6.12_|-17.el7_|-i686_|-(none)_|-(none)": {"dbus.i686",
			"1:1.6.12-17.el7", "i686", "(none)", nil, nil},
	} {
		if got, ok := Parse(line, "x86_64"); !ok || got != want {
			t.Errorf("%s is %+v", line, got)
		}
	}
	if _, ok := Parse("warning: no such file", "x86_64"); ok {
		t.Error("a warning is a package")
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct{ name, arch, normal string }{
		{"zsh.x86_64", "x86_64", "zsh"}, {"zsh.i686", "x86_64", "zsh.i686"}, {"zsh.noarch",
			"x86_64", "zsh"}, {"zsh.i386", "i686", "zsh"},
		{"python3.11", "x86_64", "python3.11"}, {"zsh", "x86_64", "zsh"}, {"zsh.aarch64", "aarch64", "zsh"},
	} {
		if got := Normalize(tt.name, tt.arch); got != tt.normal {
			t.Errorf("%s on %s is %s, want %s", tt.name, tt.arch, got, tt.normal)
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("1.0~rc1^git", "1:1.0-2")
	f.Fuzz(func(t *testing.T, a, b string) {
		if Compare(a, b) != -Compare(b, a) || Compare(a, a) != 0 || CompareEVR(a, b) != -CompareEVR(b, a) {
			t.Errorf("%q and %q have no order", a, b)
		}
		_, _ = Parse(a, b)
	})
}
