package master

import (
	"context"
	"net"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/need"
)

// TestTakenRightsCloseTheBus takes the rights of users away while one of them listens: he is cut
// and cannot connect again, and root listens on. So it is when the last user goes, and when one of
// two does.
func TestTakenRightsCloseTheBus(t *testing.T) {
	need.Root(t, "to give rights to other users")
	for name, left := range map[string]*data.Map{"none": data.NewMap(),
		"another": data.NewMap("nobody", []any{"test.ping"})} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *config.Master) {
				c.SockDir = socketDir(t)
				c.PublisherACL = data.NewMap("daemon", []any{"test.ping"}, "nobody", []any{"test.ping"})
			})
			if err := os.Chmod(b.cfg.SockDir, 0o755); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ready, ended := make(chan struct{}), make(chan struct{})
			go func() { defer close(ended); _ = b.serveBus(ctx, func() { close(ready) }) }()
			<-ready
			t.Cleanup(func() { cancel(); <-ended })
			file := eventbus.MasterSockets(b.cfg.SockDir).Pub
			spy := dialAs(t, "daemon", file)
			root, err := eventbus.Dial(t.Context(), eventbus.MasterSockets(b.cfg.SockDir),
				eventbus.ClientOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			renewed := *b.cfg
			renewed.PublisherACL = left
			b.Renew(&renewed)
			if err := spy.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if n, err := spy.Read(make([]byte, 1)); n > 0 || os.IsTimeout(err) {
				t.Errorf("who lost his rights listens on: %d bytes, %v", n, err)
			}
			for who, want := range map[string]bool{"daemon": false, "nobody": left.Len() > 0} {
				if err := connectAs(t, who, file); (err == nil) != want {
					t.Errorf("%s connects: %v", who, err)
				}
			}
			if err := b.bus.Fire("a/tag", data.NewMap()); err != nil {
				t.Fatal(err)
			}
			if e, err := root.Next(t.Context()); err != nil || e.Tag != "a/tag" {
				t.Errorf("root has %q, %v", e.Tag, err)
			}
		})
	}
}

// dialAs connects as a user, as the other end sees it, on a thread that ends with it.
func dialAs(t *testing.T, name, file string) net.Conn {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		t.Fatal(err)
	}
	fds := make(chan int, 1)
	go func() {
		runtime.LockOSThread()
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if _, _, no := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid),
			^uintptr(0)); err != nil || no != 0 || unix.Connect(fd, &unix.SockaddrUnix{Name: file}) != nil {
			fd = -1
		}
		fds <- fd
	}()
	fd := <-fds
	if fd < 0 {
		t.Fatalf("%s cannot connect", name)
	}
	f := os.NewFile(uintptr(fd), "event reader")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
