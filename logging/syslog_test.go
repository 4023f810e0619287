package logging

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

func TestSyslogAddresses(t *testing.T) {
	for _, tt := range []struct {
		file string
		want address
	}{
		{"file:///dev/log", address{"file", "/dev/log", 1}},
		{"file:///dev/log/LOG_DAEMON", address{"file", "/dev/log", 3}},
		{"file:///dev/log/log_local7", address{"file", "/dev/log", 23}},
		{"FILE:/run/x.sock", address{"file", "/run/x.sock", 1}},
		{"udp://localhost", address{"udp", "localhost:514", 1}},
		{"udp://Host:5145/LOG_KERN", address{"udp", "host:5145", 0}},
		{"tcp://[::1]/LOG_AUTHPRIV", address{"tcp", "[::1]:514", 10}},
		{"tcp://[::1]:601", address{"tcp", "[::1]:601", 1}},
	} {
		if got, ok, err := parseSyslog(tt.file); got != tt.want || !ok || err != nil {
			t.Errorf("%s: %+v, %v, %v; want %+v", tt.file, got, ok, err, tt.want)
		}
	}
	for _, file := range []string{"/var/log/salt/master", "salt.log", `C:\salt\log`, "http://host/x", ""} {
		if got, ok, err := parseSyslog(file); ok || err != nil {
			t.Errorf("%s: %+v, %v; want a path", file, got, err)
		}
	}
}

func TestSyslogAddressesThatAreNone(t *testing.T) {
	for file, want := range map[string]string{
		"udp://localhost/":             "The syslog facility '/' is not known",
		"udp://localhost/daemon":       "The syslog facility 'DAEMON' is not known",
		"tcp://localhost/LOG_INFO":     "The syslog facility 'LOG_INFO' is not known",
		"file:///dev/log/LOG_NONE":     "The syslog facility 'LOG_NONE' is not known",
		"udp://localhost:0":            `the port "0" of the syslog is none`,
		"udp://localhost:70000":        `the port "70000" of the syslog is none`,
		"udp:///LOG_USER":              "the address of the syslog has no host",
		"file://":                      `the socket of the syslog "" is no absolute path`,
		"file:dev/log/LOG_USER":        `the socket of the syslog "dev/log" is no absolute path`,
		"tcp://user@:12/LOG_USER.more": "the address of the syslog has no host",
	} {
		if _, ok, err := parseSyslog(file); !ok || err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
}

func TestCheckOpensNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "folder", "log")
	for _, good := range []Settings{{}, {File: file}, {File: "udp://localhost/LOG_USER"},
		{File: "udp:///LOG_USER", FileLevel: "quiet"}} {
		if err := Check(good); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	if _, err := os.Stat(filepath.Dir(file)); err == nil {
		t.Error("the folder of the log file was made")
	}
	for _, bad := range []Settings{{File: "udp:///LOG_USER"}, {File: "udp://localhost/LOG_NOPE"},
		{Level: "loud"}, {FileFormat: "%(nosuch)s"}} {
		checked := Check(bad)
		log, opened := New(bad, Options{})
		if opened == nil {
			log.Close()
		}
		if checked == nil || opened == nil || checked.Error() != opened.Error() {
			t.Errorf("%+v: Check gives %v, New %v", bad, checked, opened)
		}
		if got, want := errors.Is(opened, ErrFacility), strings.HasSuffix(bad.File, "LOG_NOPE"); got != want {
			t.Errorf("%+v: %v, no facility %t", bad, opened, got)
		}
	}
}

func TestPacketsArePythons(t *testing.T) {
	for _, v := range readVectors(t).Packets {
		facility, err := parseFacility(v.Facility)
		if err != nil {
			t.Error(err)
		}
		for _, network := range []string{"udp", "unixgram", "unix"} {
			wantText(t, fmt.Sprint(v.Facility, " ", v.Level),
				string(packet(network, facility, v.Level, "Grüße")), v.Want)
		}
	}
}

func TestPacketsThatPythonHasNot(t *testing.T) {
	for _, tt := range []struct {
		name, network, text, want string
		level                     Level
	}{
		{"a line over TCP ends as one", "tcp", "a\n    b", "<30>a#012    b\n", Info},
		{"Salt's own levels are for debugging", "udp", "a", "<31>a\x00", Profile},
		{"and so is the lightest", "udp", "a", "<31>a\x00", Garbage},
		{"a long line is cut between characters", "udp", "x" + strings.Repeat("é", maxPacket),
			"<30>x" + strings.Repeat("é", maxPacket/2-1) + "\x00", Info},
	} {
		wantText(t, tt.name, string(packet(tt.network, 3, tt.level, tt.text)), tt.want)
	}
}

// socketPath returns a path that a socket can have.
func socketPath(t *testing.T) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs sockets for datagrams in the file system")
	}
	dir, err := os.MkdirTemp("", "log") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "log")
}

func receive(t *testing.T, c net.PacketConn) string {
	t.Helper()
	b := make([]byte, 1<<16)
	n, _, err := c.ReadFrom(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:n])
}

func TestSyslogOverDatagrams(t *testing.T) {
	path := socketPath(t)
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	unix, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	for file, conn := range map[string]net.PacketConn{"udp://" + udp.LocalAddr().String() +
		"/LOG_DAEMON": udp, "file://" + path + "/LOG_DAEMON": unix} {
		log, _ := newLog(t, Settings{File: file, FileFormat: "%(name)s[%(process)d] %(message)s"})
		log.Error("one")
		log.Warn("two")
		wantText(t, file, receive(t, conn), "<27>salt.master[1234] one\x00")
		wantText(t, file, receive(t, conn), "<28>salt.master[1234] two\x00")
	}
}

func TestSyslogOverAStreamSocket(t *testing.T) {
	path := socketPath(t)
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	log, _ := newLog(t, Settings{File: "file://" + path, FileFormat: "%(message)s"})
	log.Error("one")
	log.Error("two")
	r := bufio.NewReader(accept(t, l))
	for _, want := range []string{"<11>one\x00", "<11>two\x00"} {
		got, err := r.ReadString(0)
		if err != nil {
			t.Fatal(err)
		}
		wantText(t, "line", got, want)
	}
}

func accept(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestCloseSendsWhatIsWaiting(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	log, _ := newLog(t, Settings{File: "tcp://" + l.Addr().String(), FileFormat: "%(message)s"})
	for i := range 500 {
		log.Error(i)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewScanner(accept(t, l))
	for i := range 500 {
		if want := fmt.Sprintf("<11>%d", i); !r.Scan() || r.Text() != want {
			t.Fatalf("%q, want %q (%v)", r.Text(), want, r.Err())
		}
	}
	if r.Scan() {
		t.Errorf("%q after all lines", r.Text())
	}
}

func TestSyslogThatIsAwayTellsWhatWasDropped(t *testing.T) {
	path := socketPath(t)
	log, console := newLog(t, Settings{Level: "error", FileLevel: "warning", File: "file://" + path,
		FileFormat: "%(levelname)s %(message)s"})
	log.Warn("line")
	<-console.wrote // it is away
	for range queueLines + 49 {
		log.Warn("line")
	}
	unix, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	got := receive(t, unix)
	var dropped int
	if _, err := fmt.Sscanf(got, "<12>WARNING Log lines lost before this one: %d (dial",
		&dropped); err != nil {
		t.Fatalf("%q: %v", got, err)
	}
	if dropped != 49 {
		t.Errorf("%d lines were dropped, want all but the queue and the one before it", dropped)
	}
	for range queueLines + 50 - dropped {
		wantText(t, "line", receive(t, unix), "<12>WARNING line\x00")
	}
	log.Warn("again")
	wantText(t, "afterwards", receive(t, unix), "<12>WARNING again\x00")
	if got := console.take(); strings.Count(got, "\n") != 1 ||
		!strings.HasPrefix(got, "[ERROR   ] The syslog of log_file cannot be reached, its lines wait: dial ") {
		t.Errorf("console: %q", got)
	}
}

func TestSyslogThatRestartsGetsTheNextLine(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := &connection{to: address{"tcp", l.Addr().String(), 1}, dropped: new(atomic.Int64)}
	defer c.close()
	if err := c.send(line{text: "one", level: Error}); err != nil {
		t.Fatal(err)
	}
	accept(t, l).Close()
	c.reading.Wait() // until the end of the connection was seen
	for c.send(line{text: "two", level: Error}) != nil {
	}
	r := bufio.NewReader(accept(t, l))
	if got, err := r.ReadString('\n'); err != nil || got != "<11>two\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	s := &syslog{queue: make(chan line, queueLines)}
	for range 4 {
		s.write(line{text: strings.Repeat("x", queueBytes/3)})
	}
	if s.dropped.Load() != 1 || len(s.queue) != 3 {
		t.Errorf("%d dropped, %d waiting", s.dropped.Load(), len(s.queue))
	}
}

func TestLogIsOpenedWithoutItsSyslog(t *testing.T) {
	log, _ := newLog(t, Settings{File: "file://" + socketPath(t)})
	log.Error("x")
	if err := errors.Join(log.Reopen(), log.Close()); err != nil {
		t.Error(err)
	}
}
