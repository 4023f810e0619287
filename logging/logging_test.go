package logging

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
)

func TestDefaultFormats(t *testing.T) {
	path := logPath(t)
	log, console := newLog(t, Settings{File: path})
	log.Info("not told")
	log.Warn("told")
	log.WithField("name", "salt.loaded").Error("told too")
	wantText(t, "console", console.take(), "[WARNING ] told\n[ERROR   ] told too\n")
	want := regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \[salt.master      :0   \]\[WARNING \]\[1234\] told\n` +
		`[-\d]{10} [:\d]{8},\d{3} \[salt.loaded      :0   \]\[ERROR   \]\[1234\] told too\n$`)
	if got := readText(t, path); !want.MatchString(got) {
		t.Errorf("log file: %q", got)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o027 != 0 {
		t.Errorf("log file: %v, %v", info.Mode(), err)
	}
}

func TestFieldsStandBehindTheMessage(t *testing.T) {
	log, console := newLog(t, Settings{ConsoleFormat: "%(name)s %(message)s"})
	log.WithError(errors.New("no route")).WithFields(logrus.Fields{"b": 2, "a": "x",
		"name": "salt.channel", "jid": "2023"}).Warn("dial")
	wantText(t, "without a place for the job", console.take(),
		"salt.channel dial: no route [a x] [b 2] [jid 2023]\n")
	if err := log.Apply(Settings{ConsoleFormat: "%(jid)s %(message)s", JIDFormat: "<%(jid)6s>"}); err != nil {
		t.Fatal(err)
	}
	log.WithField("jid", 2023).Warn("run")
	log.Warn("rest")
	wantText(t, "with one", console.take(), "<  2023> run\n rest\n")
}

func TestControlCharactersAreQuoted(t *testing.T) {
	log, console := newLog(t, Settings{ConsoleFormat: "%(name)s %(message)s"})
	log.WithFields(logrus.Fields{"name": "a\x1bb", "f": "c\rd"}).Warn("one\ntwo\x00\u202e\u0085 tab\there ä")
	wantText(t, "line", console.take(), `a\x1bb one`+"\n    "+`two\x00\x202e\x85 tab`+"\there ä"+
		` [f c\x0dd]`+"\n")
}

func TestLevelsThatLogrusMergesStayApart(t *testing.T) {
	log, console := newLog(t, Settings{ConsoleFormat: "%(levelname)s"})
	for _, tt := range []struct{ level, want string }{
		{"all", "GARBAGE TRACE DEBUG PROFILE INFO WARNING ERROR CRITICAL "},
		{"garbage", "GARBAGE TRACE DEBUG PROFILE INFO WARNING ERROR CRITICAL "},
		{"trace", "TRACE DEBUG PROFILE INFO WARNING ERROR CRITICAL "},
		{"debug", "DEBUG PROFILE INFO WARNING ERROR CRITICAL "},
		{"profile", "PROFILE INFO WARNING ERROR CRITICAL "},
		{"info", "INFO WARNING ERROR CRITICAL "},
		{"Warning", "WARNING ERROR CRITICAL "},
		{"", "WARNING ERROR CRITICAL "},
		{"error", "ERROR CRITICAL "},
		{"critical", "CRITICAL "},
		{"12", "PROFILE INFO WARNING ERROR CRITICAL "},
		{"quiet", ""},
	} {
		if err := log.Apply(Settings{Level: tt.level, ConsoleFormat: "%(levelname)s"}); err != nil {
			t.Fatal(err)
		}
		Print(log, Garbage, "x")
		log.Trace("x")
		log.Debug("x")
		Print(log, Profile, "x")
		log.Info("x")
		log.Warn("x")
		log.Error("x")
		log.Log(logrus.FatalLevel, "x")
		wantText(t, "log_level "+tt.level, strings.ReplaceAll(console.take(), "\n", " "), tt.want)
	}
}

func TestGranularLevelsFollowTheNames(t *testing.T) {
	log, console := newLog(t, Settings{Level: "debug", ConsoleFormat: "%(name)s", Granular: map[string]string{
		"salt": "warning", "salt.channel": "debug", "salt.channel.server": "quiet", "other": "all"}})
	for _, name := range []string{"", "salt.minion", "salt.channel", "salt.channel.client",
		"salt.channel.server.x", "salt.channels", "other", "third"} {
		log.WithField("name", name).Info("x")
	}
	wantText(t, "names", console.take(), "salt.channel\nsalt.channel.client\nother\nthird\n")
	log.WithField("name", "other").Trace("the console itself takes no more than log_level says")
	wantText(t, "lighter than log_level", console.take(), "")
}

func TestFileHasALevelOfItsOwn(t *testing.T) {
	path := logPath(t)
	log, console := newLog(t, Settings{Level: "error", FileLevel: "debug", File: path,
		FileFormat: "%(message)s"})
	log.Debug("small")
	log.Error("large")
	wantText(t, "console", console.take(), "[ERROR   ] large\n")
	wantText(t, "file", readText(t, path), "small\nlarge\n")
}

func TestQuietFileIsNotMade(t *testing.T) {
	for _, s := range []Settings{{FileLevel: "quiet"}, {Level: "quiet"}} {
		s.File = logPath(t)
		newLog(t, s)
		if _, err := os.Stat(s.File); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

func TestWrongSettingsNameTheirOption(t *testing.T) {
	folder := t.TempDir()
	log, console := newLog(t, Settings{ConsoleFormat: "old %(message)s"})
	for option, s := range map[string]Settings{
		"log_level":                       {Level: "loud"},
		"log_level_logfile":               {FileLevel: "loud"},
		"log_fmt_console":                 {ConsoleFormat: "%(nosuch)s"},
		"log_fmt_logfile":                 {FileFormat: "%(levelname)d"},
		"log_fmt_jid":                     {JIDFormat: "%(message)s"},
		"log_granular_levels: salt":       {Granular: map[string]string{"salt": "loud"}},
		"log_file: open " + folder:        {File: folder},
		"log_file: The syslog facility '": {File: "udp://127.0.0.1/LOG_NONE"},
	} {
		s.ConsoleDate = "new"
		if err := log.Apply(s); err == nil || !strings.HasPrefix(err.Error(), option) {
			t.Errorf("%s: %v", option, err)
		}
		if _, err := New(s, Options{}); err == nil {
			t.Errorf("New with a wrong %s is no error", option)
		}
	}
	log.Warn("here")
	wantText(t, "after all that", console.take(), "old here\n")
}

func TestApplyMovesTheLog(t *testing.T) {
	first, second := logPath(t), logPath(t)
	log, _ := newLog(t, Settings{File: first, FileFormat: "%(message)s"})
	log.Warn("one")
	for _, s := range []Settings{{File: first, FileFormat: "json %(message)s"},
		{File: second, FileFormat: "%(message)s"}, {}} {
		if err := log.Apply(s); err != nil {
			t.Fatal(err)
		}
		log.Warn("next")
	}
	wantText(t, "first file", readText(t, first), "one\njson next\n")
	wantText(t, "second file", readText(t, second), "next\n")
}

func TestReopenFollowsTheName(t *testing.T) {
	path := logPath(t)
	log, _ := newLog(t, Settings{File: path, FileFormat: "%(message)s"})
	log.Warn("one")
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := log.Reopen(); err != nil {
		t.Fatal(err)
	}
	log.Warn("two")
	wantText(t, "old", readText(t, path+".old"), "one\n")
	wantText(t, "new", readText(t, path), "two\n")
}

func TestReopenThatFailsKeepsTheFile(t *testing.T) {
	path := logPath(t)
	log, _ := newLog(t, Settings{File: path, FileFormat: "%(message)s"})
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := log.Reopen(); err == nil || !strings.HasPrefix(err.Error(), "log_file: ") {
		t.Error(err)
	}
	log.Warn("kept")
	wantText(t, "old", readText(t, path+".old"), "kept\n")
}

func TestAfterCloseTheConsoleIsLeft(t *testing.T) {
	path := logPath(t)
	log, console := newLog(t, Settings{File: path, FileFormat: "%(message)s"})
	for range 2 {
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	log.Warn("late")
	if err := log.Reopen(); err != nil {
		t.Fatal(err)
	}
	wantText(t, "console", console.take(), "[WARNING ] late\n")
	wantText(t, "file", readText(t, path), "")
}

func TestCallerIsShownWhereAsked(t *testing.T) {
	log, console := newLog(t, Settings{ConsoleFormat: "%(filename)s %(module)s %(funcName)s %(lineno)d"})
	log.Warn("x")
	_, _, line, _ := runtime.Caller(0)
	want := "logging_test.go logging_test TestCallerIsShownWhereAsked "
	if got := console.take(); !strings.HasPrefix(got, want) || strings.HasSuffix(got, " 0\n") || line == 0 {
		t.Errorf("%q, want %q and a line", got, want)
	}
}

type troublesome struct{}

func (troublesome) String() string { panic("no text") }

func TestFieldThatPanicsIsPrinted(t *testing.T) {
	log, console := newLog(t, Settings{ConsoleFormat: "%(message)s"})
	log.WithField("f", troublesome{}).Warn("x")
	if got := console.take(); !strings.Contains(got, "PANIC") {
		t.Errorf("%q", got)
	}
}

func TestManyGoroutinesMayUseALog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, _ := newLog(t, Settings{File: path, FileFormat: "%(message)s"})
	done := make(chan struct{})
	for range 4 {
		go func() {
			for range 100 {
				log.Warn("line")
			}
			done <- struct{}{}
		}()
	}
	for i := range 20 {
		log.Hide("value-" + strings.Repeat("x", i))
		if err := errors.Join(log.Reopen(),
			log.Apply(Settings{File: path, FileFormat: "%(message)s", RotateBytes: int64(i)})); err != nil {
			t.Error(err)
		}
	}
	for range 4 {
		<-done
	}
	wantText(t, "file", readText(t, path), strings.Repeat("line\n", 400))
}
