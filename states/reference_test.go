package states

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// TestReferenceHasTheArguments compares the generated reference page with the parameters that the
// loader derives from the same structs.
func TestReferenceHasTheArguments(t *testing.T) {
	page, err := os.ReadFile("../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## States\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\| `([^`]*)`").FindAllStringSubmatch(table, -1) {
		rows[row[1]] = ", " + row[2] + ","
	}
	h := newHost(t)
	shelf, err := loader.NewRegistry(h.functions.Env(), Plugins())
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range shelf.Names() {
		module, fun, _ := strings.Cut(name, ".")
		// if two modules share a name, the one available here
		args, ok := rows[shelf.Provider(module)+"."+fun]
		if !ok {
			args, ok = rows[name]
		}
		if f, _ := shelf.Func(name); ok { // aliases of functions and modules are not listed
			seen++
			checkRow(t, name, args, f.Spec())
		}
	}
	if seen < 100 {
		t.Errorf("only %d states were compared", seen)
	}
}

func checkRow(t *testing.T, name, args string, spec *loader.Spec) {
	t.Helper()
	for _, p := range spec.Params {
		want := ", " + p.Name + ","
		if !p.Required {
			want = ", " + p.Name + "="
		}
		if !strings.Contains(args, want) {
			t.Errorf("%s has no %s in %s", name, data.Str(want), args)
		}
	}
	if spec.Kwargs != "" && !strings.Contains(args, ", **"+spec.Kwargs+",") {
		t.Errorf("%s has no **%s in %s", name, spec.Kwargs, args)
	}
}
