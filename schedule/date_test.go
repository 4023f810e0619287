package schedule

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// TestDatesAreDateutils compares with testdata/dates.json, what dateutil 2.9.0 made in 2026 of
// texts on Wednesday, 2017-11-15.
func TestDatesAreDateutils(t *testing.T) {
	src, err := os.ReadFile("testdata/dates.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases [][2]string
	if err := json.Unmarshal(src, &cases); err != nil || len(cases) < 100 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		t.Run(c[0], func(t *testing.T) {
			if got := resolved(c[0]); got != c[1] {
				t.Errorf("%q is %s, want %s", c[0], got, c[1])
			}
		})
	}
}

func resolved(text string) string {
	d, err := parseDate(text, 2026)
	if err == nil && d.zoned {
		d, err = d.in(time.UTC)
		text = "Z"
	} else {
		text = ""
	}
	var at time.Time
	if err == nil {
		at, err = d.on(time.Date(2017, 11, 15, 0, 0, 0, 0, time.UTC))
	}
	if err != nil {
		return "error"
	}
	form := "2006-01-02T15:04:05"
	if at.Nanosecond() > 0 {
		form += ".000000"
	}
	return at.Format(form) + text
}

func TestDatesComeAgain(t *testing.T) {
	for _, c := range []struct{ text, after, want string }{
		{"5:00pm", "2017-11-15T16:59:59", "2017-11-15T17:00:00"},
		{"5:00pm", "2017-11-15T17:00:00", "2017-11-16T17:00:00"},
		{"Monday 5:00pm", "2017-11-13T16:00:00", "2017-11-13T17:00:00"},
		{"Monday 5:00pm", "2017-11-13T17:00:00", "2017-11-20T17:00:00"},
		{"2017-11-14T11:00", "2017-11-14T10:59:59", "2017-11-14T11:00:00"},
		{"2017-11-14T11:00", "2017-11-14T11:00:00", ""},
		{"Feb 29", "2017-03-01T00:00:00", "2020-02-29T00:00:00"},
		{"Feb 29", "2096-03-01T00:00:00", "2104-02-29T00:00:00"},
		{"31", "2017-11-15T00:00:00", "2017-12-31T00:00:00"},
		{"14 5pm", "2017-11-15T00:00:00", "2017-12-14T17:00:00"},
		{"May 5pm", "2017-11-15T00:00:00", "2018-05-01T17:00:00"},
		{"2400", "2017-11-15T00:00:00", "2400-01-01T00:00:00"},
	} {
		d, err := parseDate(c.text, 2017)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		got := ""
		if at, ok := d.next(civilTime(t, c.after)); ok {
			got = at.Format("2006-01-02T15:04:05")
		}
		if got != c.want {
			t.Errorf("%q after %s comes %q, want %q", c.text, c.after, got, c.want)
		}
	}
}

func civilTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := ParseTime(text, TimeFormat)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestTimesByFormat(t *testing.T) {
	at := time.Date(2017, 11, 5, 16, 4, 9, 123456000, time.UTC)
	for _, c := range []struct{ format, text string }{
		{TimeFormat, "2017-11-05T16:04:09"},
		{"%d.%m.%y %I:%M:%S %p", "05.11.17 04:04:09 PM"},
		{"%a %d %b %Y %H:%M:%S.%f", "Sun 05 Nov 2017 16:04:09.123456"},
		{"%A, %B %d %Y %R:%S%%", "Sunday, November 05 2017 16:04:09%"},
		{"%F %T", "2017-11-05 16:04:09"},
		{"%Y-%j %H.%M.%S", "2017-309 16.04.09"},
	} {
		if got := FormatTime(at, c.format); got != c.text {
			t.Errorf("FormatTime(%q) = %q, want %q", c.format, got, c.text)
		}
		back, err := ParseTime(c.text, c.format)
		if err != nil || !back.Truncate(time.Second).Equal(at.Truncate(time.Second)) {
			t.Errorf("ParseTime(%q, %q) = %v, %v", c.text, c.format, back, err)
		}
	}
	for _, c := range [][2]string{
		{"2017-13-13T13:00:00", TimeFormat}, {"2017-11-31T13:00:00", TimeFormat},
		{"2017-11-05T16:04:09 ", TimeFormat},
		{"2017-11-05", TimeFormat}, {"", TimeFormat}, {"5", "%Q"}, {"16:00 pm", "%I:%M %p"},
	} {
		if at, err := ParseTime(c[0], c[1]); err == nil {
			t.Errorf("ParseTime(%q, %q) = %v, want an error", c[0], c[1], at)
		}
	}
	if at, err := ParseTime("5/1", "%m/%d"); err != nil || at.Year() != 1900 || at.Month() != 5 {
		t.Errorf("ParseTime without a year gives %v, %v", at, err)
	}
}

func FuzzParseDate(f *testing.F) {
	for _, s := range []string{"5:00pm", "Monday 5pm", "2017-11-14T11:00+02:00", "20171114T1100",
		"Jan-05-18", "10 h 30 m", "1,2", "115959.5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDate(text, 2026)
		if err != nil {
			return
		}
		if d, err = d.in(time.UTC); err != nil {
			return
		}
		now := time.Date(2026, 2, 28, 12, 0, 0, 0, time.UTC)
		if at, ok := d.next(now); ok && !at.After(now) {
			t.Errorf("%q comes at %v, not after %v", text, at, now)
		}
		if strings.TrimSpace(text) == "" {
			t.Errorf("%q is a date", text)
		}
		_, _ = d.on(now)
	})
}

func FuzzParseTime(f *testing.F) {
	f.Add("2017-11-14T11:00:00", TimeFormat)
	f.Add("5 pm Nov", "%I %p %b %f %j %z")
	f.Fuzz(func(t *testing.T, text, format string) {
		if at, err := ParseTime(text, format); err == nil && at.Year() > 9999 {
			t.Errorf("ParseTime(%q, %q) = %v", text, format, at)
		}
		FormatTime(time.Unix(0, 0).UTC(), format)
	})
}
