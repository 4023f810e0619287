package logging

import (
	"encoding/json"
	"math"
	"os"
	"runtime"
	"testing"
	"time"
	_ "time/tzdata" // the vectors name zones

	"github.com/sirupsen/logrus"
)

// vectors are what Python's logging and Salt's records make of formats and dates;
// testdata/vectors.py writes them.
type vectors struct {
	Formats []struct {
		Format, Date, Name, Message, Want string
		Time                              float64
		Level                             Level
	}
	Wrong []string
	Dates []struct {
		Zone, Date, Want string
		Time             float64
	}
	Rotations []struct {
		Bytes   int64
		Backups int
		Lines   []string
		Want    map[string]string
	}
	Packets []struct {
		Facility, Want string
		Level          Level
	}
}

func readVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Formats) < 100 || len(v.Wrong) < 10 || len(v.Dates) < 1000 || len(v.Rotations) < 10 ||
		len(v.Packets) < 20 {
		t.Fatalf("too few vectors: %d formats, %d wrong ones, %d dates", len(v.Formats),
			len(v.Wrong), len(v.Dates))
	}
	return v
}

// moment returns a time that Python has as a float.
func moment(seconds float64) time.Time {
	return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC()
}

func TestFormatsPrintAsPythons(t *testing.T) {
	log := &Log{options: Options{PID: 1234}}
	for _, v := range readVectors(t).Formats {
		f, err := parseFormat(v.Format, v.Date)
		if err != nil {
			t.Errorf("format %q: %v", v.Format, err)
			continue
		}
		e := &logrus.Entry{Time: moment(v.Time), Message: v.Message,
			Caller: &runtime.Frame{File: "/srv/salt/run.py", Line: 42, Function: "example.org/run.work"}}
		r := log.newRecord(e, v.Level, v.Name)
		r.jid, r.shownJID = "20231114221320000000", "[JID: 20231114221320000000]"
		f.jid = true // Python has no other place for it
		if got := string(f.append(nil, r)); got != v.Want {
			t.Errorf("format %q, level %d:\n%q, Python has\n%q", v.Format, v.Level, got, v.Want)
		}
	}
}

func TestFormatsThatPythonRefuses(t *testing.T) {
	for _, text := range readVectors(t).Wrong {
		if _, err := parseFormat(text, ""); err == nil {
			t.Errorf("format %q is taken", text)
		}
	}
}

func TestDatesPrintAsPythons(t *testing.T) {
	for _, v := range readVectors(t).Dates {
		zone, err := time.LoadLocation(v.Zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendTime(nil, v.Date, moment(v.Time).In(zone))); got != v.Want {
			t.Errorf("strftime %q of %v in %s: %q, Python has %q", v.Date, v.Time, v.Zone, got, v.Want)
		}
	}
}
