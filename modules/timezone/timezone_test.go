package timezone

import (
	"strings"
	"testing"
)

// TestParseClock parses the output of timedatectl of systemd 252 and 204.
func TestParseClock(t *testing.T) {
	for output, want := range map[string]any{
		"               Local time: Sun 2026-11-22 11:00:00 CET\n          RTC in local TZ: no\n": "UTC",
		"NTP enabled: yes\n RTC in local TZ: yes\n":                                               "localtime",
	} {
		if got, err := parseClock(output); err != nil || got != want {
			t.Errorf("%q gives %v, %v", output, got, err)
		}
	}
	if got, err := parseClock("nothing"); err == nil ||
		!strings.HasPrefix(err.Error(), "Failed to parse timedatectl output: nothing\n") {
		t.Errorf("it gives %v, %v", got, err)
	}
}

func FuzzClock(f *testing.F) {
	f.Add("RTC in local TZ: yes")
	f.Fuzz(func(t *testing.T, output string) {
		if got, err := parseClock(output); err == nil && got != "UTC" && got != "localtime" {
			t.Errorf("%q gives %v", output, got)
		}
	})
}
