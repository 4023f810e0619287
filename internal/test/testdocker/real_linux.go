package testdocker

import (
	"archive/tar"
	"bytes"
	"context"
	_ "embed"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/brineproject/brine/internal/test/need"
)

// box is the only program of the test's image.
//
//go:embed testdata/box.txt
var box string

// starting mounts what hides the host's own files from the engine, and starts it. The engine writes its key
// into /etc/docker.
const starting = `ip link set lo up && mount -t tmpfs run /run && mkdir "$0/etc" && mount -t tmpfs etc "$0/etc" &&
mkdir "$0/etc/up" "$0/etc/work" && mount -t overlay -o lowerdir=/etc,upperdir="$0/etc/up",workdir="$0/etc/work" etc /etc &&
{ mount -t cgroup2 cgroup /sys/fs/cgroup || true; } &&
exec dockerd --data-root "$0/data" --exec-root "$0/exec" --pidfile "$0/pid" -H "unix://$0/docker.sock" --storage-driver vfs \
  --iptables=false --ip6tables=false --ip-forward=false --bridge=none --userland-proxy=false`

// Real starts a real engine of the directory BRINE_TEST_DOCKERD in namespaces of its own, which ends with
// the test. It returns the URL.
func Real(t testing.TB) string {
	t.Helper()
	programs := os.Getenv("BRINE_TEST_DOCKERD")
	if programs == "" {
		t.Skip("BRINE_TEST_DOCKERD names no directory with dockerd")
	}
	need.Root(t, "an engine needs namespaces and mounts")
	need.Time(t, "it starts an engine")
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	dir := t.TempDir()
	own := filepath.Join(dir, "engine")
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "-m", "-n", "-i", "-u", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c",
		starting, own)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the engine said\n%s", text[max(0, len(text)-4000):])
		}
	})
	socket := filepath.Join(own, "docker.sock")
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for ticks := time.NewTicker(200 * time.Millisecond); ; {
		if resp, err := client.Get("http://localhost/_ping"); err == nil {
			resp.Body.Close()
			return "unix://" + socket
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("the engine ended: %v", err)
		case <-ctx.Done():
			t.Fatal("the engine does not answer")
		case <-ticks.C:
		}
	}
}

// Box writes a file for docker.import with one static program, under the names of some that containers have.
func Box(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "box.go")
	if err := os.WriteFile(source, []byte(box), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "box"), source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the program of the image: %v\n%s", err, out)
	}
	program, err := os.ReadFile(filepath.Join(dir, "box"))
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	add := func(h tar.Header, text []byte) {
		h.Size = int64(len(text))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bin/", "tmp/", "etc/", "dev/", "proc/", "sys/"} {
		add(tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}, nil)
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: "bin/box", Mode: 0o755}, program)
	for _, name := range []string{"env", "test", "sleep", "echo", "cat", "exit"} {
		add(tar.Header{Typeflag: tar.TypeLink, Name: "bin/" + name, Linkname: "bin/box", Mode: 0o755}, nil)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "box.tar")
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
