package logging

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sirupsen/logrus"
)

func FuzzFormat(f *testing.F) {
	for _, text := range []string{defaultConsoleFormat, defaultFileFormat, "%(msecs)+08.3f %%",
		"%(colormsg)-20.3r", "json", "%("} {
		f.Add(text, "%Y %-d %^a %Q", "a message\n")
	}
	log := &Log{options: Options{PID: 1}}
	f.Fuzz(func(t *testing.T, text, date, message string) {
		form, err := parseFormat(text, date)
		if err != nil {
			return
		}
		e := &logrus.Entry{Time: time.Unix(1700000000, 0), Message: message}
		got := form.append(nil, log.newRecord(e, Info, "salt"))
		if form.json && utf8.ValidString(message) {
			var read struct{ Message string }
			if err := json.Unmarshal(got, &read); err != nil || read.Message != message {
				t.Errorf("%q as JSON: %s, %v", message, got, err)
			}
		}
	})
}

func FuzzSyslogAddress(f *testing.F) {
	f.Add("udp://localhost:514/LOG_USER")
	f.Add("file:///dev/log/LOG_DAEMON.x")
	f.Fuzz(func(t *testing.T, file string) {
		a, ok, err := parseSyslog(file)
		if ok && err == nil && (a.place == "" || a.facility < 0 || a.facility > 23) {
			t.Errorf("%q: %+v", file, a)
		}
	})
}

func FuzzSecrets(f *testing.F) {
	f.Add("x "+testKey+" y", "hunter22")
	f.Add("hunter2hunter22", "hunter22")
	f.Fuzz(func(t *testing.T, text, secret string) {
		var s secrets
		s.add([]string{secret})
		got := s.hide(text)
		if len(secret) >= minSecret && !strings.Contains(secret, "*") && strings.Contains(got, secret) {
			t.Errorf("%q stays in %q", secret, got)
		}
		if strings.Contains(got, "-----BEGIN RSA PRIVATE KEY-----") {
			t.Errorf("a private key stays in %q", got)
		}
	})
}
