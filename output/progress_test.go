package output

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestProgress compares with the output of progressbar 2.5 with the widgets of Salt 3006.18.
func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		name         string
		total, width int
		lines        []string
	}{
		{"two on a terminal", 2, 80, []string{
			"  0% |                                    | Elapsed Time: 0:00:00 Returns: [0/2]",
			" 50% |##################                  | Elapsed Time: 0:00:00 Returns: [1/2]",
			"100% |####################################| Elapsed Time: 0:00:00 Returns: [2/2]"}},
		{"on a narrow terminal", 1, 20, []string{
			"  0% || Elapsed Time: 0:00:00 Returns: [0/1]", "100% || Elapsed Time: 0:00:00 Returns: [1/1]"}},
		{"thirds", 3, 59, []string{
			"  0% |               | Elapsed Time: 0:00:00 Returns: [0/3]",
			" 33% |#####          | Elapsed Time: 0:00:00 Returns: [1/3]",
			" 66% |##########     | Elapsed Time: 0:00:00 Returns: [2/3]",
			"100% |###############| Elapsed Time: 0:00:00 Returns: [3/3]"}},
		{"none", 0, 49, []string{"100% |     | Elapsed Time: 0:00:00 Returns: [0/0]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b strings.Builder
				p := NewProgress(&b, tt.total, func() int { return tt.width })
				for i := range tt.total {
					p.Update(i + 1)
				}
				if d := cmp.Diff(strings.Join(tt.lines, "\r")+"\r", b.String()); d != "" {
					t.Errorf("drawn (-want +got):\n%s", d)
				}
			})
		})
	}
}

// TestProgressOfMany checks that a line is drawn only when a column changes or a second has passed.
func TestProgressOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		p := NewProgress(&b, 1000, func() int { return 80 })
		drawn := func(done int) string {
			b.Reset()
			p.Update(done)
			return b.String()
		}
		if got := drawn(5); got != "" {
			t.Errorf("at 5 of 1000 it drew %q", got)
		}
		const ten = "  1% |                                | Elapsed Time: 0:00:00 Returns: [10/1000]\r"
		if got := drawn(10); got != ten {
			t.Errorf("at 10 it drew %q, want %q", got, ten)
		}
		time.Sleep(25*time.Hour + time.Minute)
		const late = "  1% |                         | Elapsed Time: 1 day, 1:01:00 Returns: [11/1000]\r"
		if got := drawn(11); got != late {
			t.Errorf("after a day it drew %q, want %q", got, late)
		}
		const more = "100% |#######################| Elapsed Time: 1 day, 1:01:00 Returns: [1001/1000]\r"
		if got := drawn(1001); got != more {
			t.Errorf("with more than all it drew %q, want %q", got, more)
		}
	})
}
