package signatures

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/loader"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "signatures.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestRead(t *testing.T) {
	got, err := Read(write(t, "# functions\n\na.b()\na.c(x, y='(#)', *, **)\nmotd.set(text)  # own\n"))
	want := []Line{
		{"a.b", "", false}, {"a.c", "x, y='(#)', *, **", false}, {"motd.set", "text", true},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Read gives %v, %v; want %v", got, err, want)
	}
}

func TestReadReportsErrors(t *testing.T) {
	for _, line := range []string{"a.b", "ab()", "a.b(", "a.b() own"} {
		file := write(t, "a.a()\n"+line+"\n")
		if _, err := Read(file); err == nil || !strings.HasPrefix(err.Error(), file+":2: ") {
			t.Errorf("%q: %v", line, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there can be read")
	}
}

func TestOf(t *testing.T) {
	spec := &loader.Spec{
		Name:   "set_",
		Params: []loader.Param{{Name: "text", Required: true}, {Name: "times", Default: int64(1)}},
		Args:   "args", Kwargs: "kwargs",
	}
	if got, want := Of("motd.set", spec).String(), "motd.set(text, times=1, *, **)"; got != want {
		t.Errorf("Of gives %s, want %s", got, want)
	}
}

func TestDifferences(t *testing.T) {
	named := []Line{{"a.b", "", false}, {"a.c", "x", false}, {"a.d", "", true}}
	got := []Line{{"a.b", "", false}, {"a.c", "x, y", false}, {"a.d", "", false}}
	want := []string{
		"s.txt has no line a.c(x, y); a function that Salt does not have is marked \"# own\"",
		"s.txt names a.c(x), which is not there",
	}
	if out := Differences("s.txt", named, got); !slices.Equal(out, want) {
		t.Errorf("Differences gives %q, want %q", out, want)
	}
	if out := Differences("s.txt", named, named); out != nil {
		t.Errorf("equal lists differ: %q", out)
	}
}
