package state_test

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/output"
)

// TestShownAsPprint compares the results of the functions that show states, as the outputter pprint
// prints them, with those of salt-call of Salt 3006.18. High data is a HashableOrderedDict; the
// dictionaries in it are OrderedDict or dict, depending on their origin.
func TestShownAsPprint(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/pprint.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files, calls := map[string]string{}, 0
	for _, f := range ar.Files {
		files[f.Name] = string(f.Data)
	}
	h := newHarness(t, files)
	for name, want := range files {
		words := strings.Fields(name)
		if !strings.HasPrefix(name, "state.") {
			continue
		}
		calls++
		for range 2 {
			res := h.call(t, "20261122010203040506", words[0], words[1:]...)
			got, err := output.Printout(output.Choice{Forced: "pprint"},
				data.NewMap("local", res.Value), output.Options{Indent: output.NoIndent{}})
			if err != nil || got+"\n" != want {
				t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
			}
		}
	}
	if calls < 7 {
		t.Errorf("%d calls", calls)
	}
}
