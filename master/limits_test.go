package master

import (
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
)

func TestOpenFiles(t *testing.T) {
	for _, tt := range []struct {
		minions, soft uint64
		level         logrus.Level
		want          string
	}{
		{462, 1024, 0, ""},
		{463, 1024, logrus.WarnLevel, "The 463 accepted minions may need 1026 open files, and the limit is 1024: when all of them are connected, some requests"},
		{924, 1024, logrus.FatalLevel, "not all of them can be connected at once"},
	} {
		if level, text := fileWarning(tt.minions, tt.soft); level != tt.level ||
			!strings.Contains(text, tt.want) || (tt.want == "") != (text == "") {
			t.Errorf("%d minions, limit %d: %v %q, want %v %q", tt.minions, tt.soft, level, text,
				tt.level, tt.want)
		}
	}
}

func TestOpenFilesWarning(t *testing.T) {
	b := newBench(t, nil, "web1", "web2", "web3")
	log, hook := test.NewNullLogger()
	log.SetLevel(logrus.InfoLevel)
	soft := uint64(105)
	f := &openFiles{keys: b.keys, limit: func() (uint64, uint64) { return soft, 4096 },
		log: logrus.NewEntry(log)}
	f.logLimits(100000)
	if n := len(hook.AllEntries()); n != 2 ||
		!strings.Contains(hook.LastEntry().Message, "Defaulting to 4096.") {
		t.Errorf("at the start: %d lines, the last %q", n, hook.LastEntry().Message)
	}
	hook.Reset()
	for range 3 {
		if err := f.check(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(hook.AllEntries()); n != 1 {
		t.Errorf("%d warnings, want one", n)
	}
	soft = 103
	if err := f.check(); err != nil || len(hook.AllEntries()) != 2 ||
		hook.LastEntry().Level != logrus.FatalLevel {
		t.Errorf("when it gets worse: %v, %d lines", err, len(hook.AllEntries()))
	}
}

// TestConnectionsLeaveFilesForTheMaster checks how many of the allowed files are left for
// connections.
func TestConnectionsLeaveFilesForTheMaster(t *testing.T) {
	for _, tt := range []struct{ soft, most int }{{200, 100}, {1024, 896}, {8192, 7168}, {100_000, 95_904}} {
		c := crowdOf(func() (uint64, uint64) { return uint64(tt.soft), 0 }, silent(t))
		if c.Most() != tt.most {
			t.Errorf("of %d files %d are for connections, want %d", tt.soft, c.Most(), tt.most)
		}
	}
	if c := crowdOf(func() (uint64, uint64) { return 0, 0 }, silent(t)); c != nil {
		t.Error("a bound where the system has none")
	}
}
