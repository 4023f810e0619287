package master

import (
	"net"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/need"
)

// TestListeners opens the bus to users of publisher_acl, as root: they can connect, and others
// cannot.
func TestListeners(t *testing.T) {
	need.Root(t, "to give rights to other users")
	b := newBench(t, func(c *config.Master) { c.PublisherACL = data.NewMap("daemon", []any{"test.ping"}) })
	if err := os.Chmod(filepath.Dir(filepath.Dir(b.cfg.SockDir)), 0o755); err != nil {
		t.Fatal(err)
	}
	file := eventbus.MasterSockets(b.cfg.SockDir).Pub
	l, err := net.Listen("unix", file)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := connectAs(t, "daemon", file); err == nil {
		t.Fatal("the test connects to what is closed")
	}
	logins := data.NewMap("file", data.NewMap("fred", []any{"test.ping"}))
	for _, tt := range []struct {
		name           string
		acl, logins    *data.Map
		daemon, nobody bool
	}{
		{"one user", b.cfg.PublisherACL, nil, true, false},
		{"another one", data.NewMap("nobody", []any{"test.ping"}), nil, false, true},
		{"logins alone", nil, logins, false, false},
		{"one again", b.cfg.PublisherACL, logins, true, false},
		{"nobody", nil, nil, false, false},
	} {
		cfg := *b.cfg
		cfg.PublisherACL, cfg.ExternalAuth = tt.acl, tt.logins
		b.Renew(&cfg)
		for user, want := range map[string]bool{"daemon": tt.daemon, "nobody": tt.nobody} {
			if err := connectAs(t, user, file); (err == nil) != want {
				t.Errorf("%s: %s: %v", tt.name, user, err)
			}
		}
	}
}

// connectAs connects to a socket with the rights of a user, on a thread that ends with it.
func connectAs(t *testing.T, name, file string) error {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := unix.Setfsgid(uid); err != nil {
			done <- err
			return
		}
		if err := unix.Setfsuid(uid); err != nil {
			done <- err
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: file})
			_ = unix.Close(fd)
		}
		done <- err
	}()
	return <-done
}
