package job

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/brineproject/brine/data"
)

// TestNotices holds what is read of the notices of a return, which a minion chooses.
func TestNotices(t *testing.T) {
	sent := &Return{ID: "m", JID: "1", Value: true}
	sent.Notify(nil)
	if sent.Map().Has(NoticesField) {
		t.Error("a return without notices has the field")
	}
	sent.Notify([]string{"one", "two"})
	many := make([]any, 30)
	for i := range many {
		many[i] = strings.Repeat("ä", 5000)
	}
	long := strings.Split(strings.Repeat(strings.Repeat("ä", 4096)+" ", 20), " ")[:20]
	for _, tt := range []struct {
		name string
		load *data.Map
		want []string
	}{
		{"sent", sent.Map(), []string{"one", "two"}},
		{"none", data.NewMap(), nil},
		{"no list", data.NewMap(NoticesField, "text"), nil},
		{"no texts", data.NewMap(NoticesField, []any{int64(1), "a\x1b[2Jb\nc"}), []string{"a [2Jb c"}},
		{"many and long", data.NewMap(NoticesField, many), long},
	} {
		if d := cmp.Diff(tt.want, Notices(tt.load)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
