package logging

import (
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
)

func TestJSON(t *testing.T) {
	log, console := newLog(t, Settings{Level: "all", ConsoleFormat: "json"})
	log.Hide("hunter22")
	log.WithError(errors.New("no\nroute")).WithFields(logrus.Fields{"n": 3, "f": 1.5,
		"nan": math.NaN(), "yes": true, "none": nil, "list": []string{"a", "hunter22"},
		"level": "mine", "name": "salt.channel", "jid": "2023",
		"hunter22": "x"}).Info("say \"hunter22\" \u202e\x1b\u0085")
	got := console.take()
	var members map[string]any
	if err := json.Unmarshal([]byte(got), &members); err != nil {
		t.Fatalf("%q: %v", got, err)
	}
	if !regexp.MustCompile(`^\{"time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[-+]\d\d:\d\d)","level":"info","name":"salt.channel","process":1234,"message":"say `).MatchString(got) {
		t.Errorf("%q", got)
	}
	delete(members, "time")
	want := map[string]any{"level": "info", "name": "salt.channel", "process": 1234.0,
		"message": "say \"**********\" \u202e\x1b\u0085", "jid": "2023", "error": "no\nroute",
		"n": 3.0, "f": 1.5, "nan": "NaN", "yes": true, "none": nil, "list": "[a **********]",
		"fields.level": "mine", "**********": "x"}
	if diff := cmp.Diff(want, members); diff != "" {
		t.Error(diff)
	}
	for _, r := range got[:len(got)-1] {
		if isControl(r) {
			t.Errorf("%q stands in %q", r, got)
		}
	}
	Print(log, Profile, "x")
	if err := json.Unmarshal([]byte(console.take()), &members); err != nil || members["level"] != "profile" {
		t.Errorf("%v, %v", members, err)
	}
}
