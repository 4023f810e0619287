package saltcheck

import (
	"os"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestJUnitTimes compares with the XML that Salt 3007.10 and junit_xml 1.9 write for these results,
// with durations.
func TestJUnitTimes(t *testing.T) {
	one := func(status string, duration float64) *data.Map {
		return data.NewMap("status", status, "duration", duration)
	}
	results := data.NewMap("web", data.NewMap(
		"b é", one(`Fail: é is not equal to <a> & "b"`, 0.0012),
		"a", one("Pass", 0.001), "c", one("Skip", 0)), "none", data.NewMap())
	want, err := os.ReadFile("testdata/junit-times.xml")
	if err != nil {
		t.Fatal(err)
	}
	if got := junit(results); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
