package syslog

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/returners"
)

// listen is the log of a system.
func listen(t *testing.T) (socket string, next func() string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "syslog")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "log")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return socket, func() string {
		b := make([]byte, 4096)
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
}

func TestReturner(t *testing.T) {
	socket, next := listen(t)
	const at = `[A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d `
	for name, c := range map[string]struct {
		opts, kwargs *data.Map
		want         string
	}{
		"defaults": {data.NewMap(), nil, `^<14>` + at + `salt-minion: `},
		"all set": {data.NewMap("syslog", data.NewMap("level", "LOG_ERR", "facility", "LOG_DAEMON",
			"tag", "mysalt", "options", []any{"LOG_PID"})), nil,
			`^<27>` + at + fmt.Sprintf(`mysalt\[%d\]: `, os.Getpid())},
		"by the order": {data.NewMap("syslog.level", "LOG_ERR"), data.NewMap("level", "LOG_DEBUG"),
			`^<15>` + at + `salt-minion: `},
	} {
		t.Run(name, func(t *testing.T) {
			w := &writer{returners.MapSource(c.opts), socket}
			ret := data.NewMap("id", "web1", "return", "a\nb")
			if c.kwargs != nil {
				ret.Set("ret_kwargs", c.kwargs)
			}
			if err := w.Return(t.Context(), ret); err != nil {
				t.Fatal(err)
			}
			got := next()
			if !regexp.MustCompile(c.want).MatchString(got) ||
				!strings.HasSuffix(got, `: {"id": "web1", "return": "a\nb"}`) {
				t.Errorf("the log got %q, want %s", got, c.want)
			}
		})
	}
}

func TestWrongSettings(t *testing.T) {
	for want, opts := range map[string]*data.Map{
		"syslog.level: LOG_LOUD is not a syslog level":   data.NewMap("syslog.level", "LOG_LOUD"),
		"syslog.facility: x is not a syslog facility":    data.NewMap("syslog.facility", "x"),
		"syslog.tag: tag must be a text of at most 32 c": data.NewMap("syslog.tag", strings.Repeat("x", 33)),
	} {
		w := &writer{returners.MapSource(opts), "/nonexistent"}
		if err := w.Return(t.Context(), data.NewMap()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Return = %v, want %s", err, want)
		}
	}
	w := &writer{returners.MapSource(data.NewMap()), "/nonexistent"}
	if err := w.Return(t.Context(), data.NewMap()); err == nil {
		t.Error("a log that is not there took a return")
	}
}
