package transport

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestHasteIsForgotten checks that what was said while there was a connection ends a pause that
// comes soon after, and none days later: else all minions of a master that starts again would dial
// at the same moment.
func TestHasteIsForgotten(t *testing.T) {
	for _, tt := range []struct {
		name string
		said []time.Duration // before the pause
		cut  bool
	}{
		{"never", nil, false},
		{"just now", []time.Duration{0}, true},
		{"a second ago", []time.Duration{time.Second}, true},
		{"days ago", []time.Duration{72 * time.Hour}, false},
		{"days ago and again just now", []time.Duration{72 * time.Hour, time.Second}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := NewHaste()
				var last time.Duration
				for i, ago := range tt.said {
					if i > 0 {
						time.Sleep(last - ago)
					}
					h.Say()
					last = ago
				}
				time.Sleep(last)
				b := (&Dialer{BackoffMin: time.Hour}).Backoff()
				begun := time.Now()
				if !b.Wait(t.Context(), h) {
					t.Fatal("the pause was not taken")
				}
				if cut := time.Since(begun) == 0; cut != tt.cut {
					t.Errorf("the pause lasted %s", time.Since(begun))
				}
			})
		})
	}
}

// TestHasteEndsAPauseOfNow says it while the pause lasts, and an old word does not hide it.
func TestHasteEndsAPauseOfNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHaste()
		h.Say()
		time.Sleep(time.Hour)
		time.AfterFunc(time.Minute, h.Say)
		begun := time.Now()
		if !(&Dialer{BackoffMin: time.Hour}).Backoff().Wait(t.Context(), h) ||
			time.Since(begun) != time.Minute {
			t.Errorf("the pause lasted %s", time.Since(begun))
		}
	})
}
