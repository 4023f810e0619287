package keyring

import (
	"math"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/pki"
)

func TestHandoverLife(t *testing.T) {
	for _, tt := range []struct {
		days float64
		want time.Duration // 0 is an error
	}{
		{0, DefaultHandover}, {1, 24 * time.Hour}, {0.05, 72 * time.Minute}, {1.0 / 24, time.Hour},
		{3660, 3660 * 24 * time.Hour},
		{-1, 0}, {1e-9, 0}, {0.04, 0}, {3661, 0}, {math.NaN(), 0}, {math.Inf(1), 0}, {math.Inf(-1),
			0}, {1e300, 0},
	} {
		if got, err := HandoverLife(tt.days); got != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("HandoverLife(%v) = %v, %v, want %v", tt.days, got, err, tt.want)
		}
	}
}

// A number of days that no minion could follow in leaves the key of the master as it is.
func TestRotateMasterRefusesDays(t *testing.T) {
	tree, err := pki.Open(t.TempDir(), pki.Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := tree.LoadOrCreate("master", 2048, "")
	if err != nil {
		t.Fatal(err)
	}
	r := New(Options{Tree: tree})
	for _, days := range []float64{math.NaN(), 1e-9, -1, 1e9} {
		if m, err := r.RotateMaster(data.NewMap("keysize", int64(2048)), days, time.Now()); err == nil {
			t.Errorf("RotateMaster for %v days gives %s", days, data.Repr(m))
		}
	}
	if now, err := tree.Private("master", ""); err != nil || !now.Public().Equal(first.Public()) {
		t.Errorf("the key was replaced: %v", err)
	}
}
