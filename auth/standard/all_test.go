package standard

import (
	"maps"
	"slices"
	"testing"

	"github.com/brineproject/brine/auth"
)

// What programs tell users of is what there is; auto is only there to be refused.
func TestSystemsAreThoseThatAreTold(t *testing.T) {
	want := append([]string{"auto"}, auth.SystemNames()...)
	if got := slices.Sorted(maps.Keys(systems())); !slices.Equal(got, want) {
		t.Errorf("there are %q, told %q", got, want)
	}
	for _, name := range auth.ForeignSystems() {
		if name != "auto" && slices.Contains(want, name) {
			t.Errorf("%s is told to be Salt's alone", name)
		}
	}
}
