package master

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/returners"
	"github.com/brineproject/brine/transport"
)

// stage is a publish port, a request port or a socket that writes down when it ends.
type stage struct {
	wire
	name  string
	diary *diary
	fail  chan error
}

type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (s *stage) Serve(ctx context.Context) error {
	s.diary.write(s.name + " begins")
	defer s.diary.write(s.name + " ends")
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.fail:
		return err
	}
}

// asReplier makes a stage a request port.
type asReplier struct{ *stage }

func (s asReplier) Serve(ctx context.Context, _ transport.Handler) error { return s.stage.Serve(ctx) }

// play opens a master whose ports are stages.
func play(t *testing.T) (m *Master, d *diary, replier *stage) {
	t.Helper()
	dir, err := os.MkdirTemp("", "brine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cfg := config.DefaultMaster()
	cfg.PKIDir, cfg.CacheDir, cfg.SockDir, cfg.User = filepath.Join(dir, "pki"), filepath.Join(dir,
		"cache"), filepath.Join(dir, "run"), "root"
	d = &diary{}
	on := func(name string) *stage { return &stage{name: name, diary: d, fail: make(chan error, 1)} }
	replier = on("replier")
	m, err = New(t.Context(), cfg,
		Options{Log: silent(t), Jobs: func(context.Context) (returners.JobCache, error) { return newMemoryJobs(), nil },
			Ports: Ports{
				Reply: func(context.Context, string, transport.Options) (transport.Replier, error) {
					return asReplier{replier}, nil
				},
				Publish: func(context.Context, string, transport.Options) (PublishPort, error) { return on("publisher"), nil },
				Submit:  func(context.Context, string, transport.Options) (Service, error) { return on("submit"), nil },
			}})
	if err != nil {
		t.Fatal(err)
	}
	return m, d, replier
}

// awaitLine waits until the diary has a line.
func (d *diary) awaitLine(t *testing.T, line string) {
	t.Helper()
	// nothing tells of a new line
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		d.mu.Lock()
		found := slices.Contains(d.lines, line)
		d.mu.Unlock()
		if found {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no %q in %v", line, d.lines)
		}
	}
}

func TestStartAndEndHaveAnOrder(t *testing.T) {
	m, d, _ := play(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx, func() {}) }()
	d.awaitLine(t, "replier begins")
	reader, err := eventbus.Dial(t.Context(), eventbus.MasterSockets(m.cfg.SockDir), eventbus.ClientOptions{})
	if err != nil {
		t.Fatalf("requests are taken before the bus is open: %v", err)
	}
	defer reader.Close()
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run = %v", err)
	}
	var ends []string
	for _, l := range d.lines {
		if strings.HasSuffix(l, "ends") {
			ends = append(ends, l)
		}
	}
	if want := []string{"replier ends", "submit ends", "publisher ends"}; !slices.Equal(ends, want) {
		t.Errorf("ended in the order %v, want %v", ends, want)
	}
}

// TestFileThatSaltsAPILooksFor checks that the file by which Salt's salt-api knows that a master runs is
// there while it does, also after one that was killed has left the socket of a Salt master.
func TestFileThatSaltsAPILooksFor(t *testing.T) {
	m, d, _ := play(t)
	path := filepath.Join(m.cfg.SockDir, "workers.ipc")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("an open master is not seen: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx, func() {}) }()
	d.awaitLine(t, "replier begins")
	stop()
	if err := <-done; err != nil {
		t.Errorf("Run = %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a master that has ended is still seen: %v", err)
	}
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	remove, err := markRunning(m.cfg.SockDir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the socket of a killed master is not replaced: %v, %v", info, err)
	}
	if err := errors.Join(remove(), remove()); err != nil {
		t.Error(err)
	}
}

// TestFailedPortEndsTheMaster makes a port fail, which cannot be opened again by the one that has
// failed: the master ends with the error, and whoever supervises it starts a new one.
func TestFailedPortEndsTheMaster(t *testing.T) {
	m, d, replier := play(t)
	done := make(chan error, 1)
	go func() { done <- m.Run(t.Context(), func() {}) }()
	d.awaitLine(t, "replier begins")
	broken := errors.New("the port is gone")
	replier.fail <- broken
	if err := <-done; !errors.Is(err, broken) || !strings.Contains(err.Error(), "replier") {
		t.Errorf("Run = %v, want the error of the replier", err)
	}
}

// TestTakenEventSocketEndsTheMaster puts a file in the place of the event socket.
func TestTakenEventSocketEndsTheMaster(t *testing.T) {
	m, d, _ := play(t)
	if err := os.WriteFile(filepath.Join(m.cfg.SockDir, "master_event_pub.ipc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.Run(t.Context(), func() {}); err == nil || !strings.Contains(err.Error(), "event bus") {
		t.Errorf("Run = %v, want an error of the event bus", err)
	}
	if len(d.lines) > 0 {
		t.Errorf("began without a bus: %v", d.lines)
	}
}

func TestTakenPortsChangeNothing(t *testing.T) {
	dir := t.TempDir()
	cfg := config.DefaultMaster()
	cfg.PKIDir, cfg.CacheDir, cfg.SockDir = filepath.Join(dir, "pki"), filepath.Join(dir, "cache"),
		filepath.Join(dir, "run")
	taken := errors.New("address already in use")
	for _, which := range []string{"publish", "reply"} {
		_, err := New(t.Context(), cfg, Options{Log: silent(t),
			Jobs: func(context.Context) (returners.JobCache, error) { return nil, errors.New("opened jobs") },
			Ports: Ports{
				Reply: func(context.Context, string, transport.Options) (transport.Replier, error) { return nil, taken },
				Publish: func(context.Context, string, transport.Options) (PublishPort, error) {
					if which == "publish" {
						return nil, taken
					}
					return &wire{}, nil
				},
			}})
		if !errors.Is(err, ErrPorts) || !errors.Is(err, taken) ||
			!strings.HasPrefix(err.Error(), "The ports are not available to bind") {
			t.Errorf("%s port taken: New = %v", which, err)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("made %v", entries)
	}
}

func TestSecondMasterIsRefused(t *testing.T) {
	b := newBench(t, nil, "web1")
	key, _ := os.ReadFile(filepath.Join(b.cfg.CacheDir, ".root_key"))
	_, err := New(t.Context(), b.cfg, Options{Log: silent(t),
		Jobs: func(context.Context) (returners.JobCache, error) { return newMemoryJobs(), nil },
		Ports: Ports{
			Reply:   func(context.Context, string, transport.Options) (transport.Replier, error) { return noReplies{}, nil },
			Publish: func(context.Context, string, transport.Options) (PublishPort, error) { return &wire{}, nil },
			Submit:  func(context.Context, string, transport.Options) (Service, error) { return &wire{}, nil },
		}})
	if !errors.Is(err, ErrRunning) {
		t.Errorf("New = %v, want ErrRunning", err)
	}
	if again, _ := os.ReadFile(filepath.Join(b.cfg.CacheDir, ".root_key")); string(again) != string(key) {
		t.Error("the second master replaced the key of the first")
	}
}

// TestRotationHasItsTime lets a day pass: the shared key is replaced when it is publish_session
// old.
func TestRotationHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *config.Master) { c.PublishSession = time.Hour; c.PresenceEvents = true }, "web1")
		first := b.maint.secrets.Shared()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- b.schedule.Run(ctx) }()
		time.Sleep(59 * time.Minute)
		if b.maint.secrets.Shared() != first {
			t.Error("rotated too early")
		}
		time.Sleep(2 * time.Minute)
		if b.maint.secrets.Shared() == first {
			t.Error("not rotated")
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
