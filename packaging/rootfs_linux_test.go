package packaging

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/brineproject/brine/internal/sources"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/need"
)

// An image is the root of the container image of a role, and how the Dockerfile runs it.
type image struct {
	root string
	user uint32
}

// command returns a command in the image.
func (i image) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = []string{"PATH=/usr/bin", "ZONEINFO=/usr/share/zoneinfo/zoneinfo.zip"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: i.root,
		Credential: &syscall.Credential{Uid: i.user, Gid: i.user}}
	return cmd
}

// run runs a program in the image and returns its output.
func (i image) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := i.command(t, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// newImage creates the image of a role from the programs in bin, with the devices that an engine
// would create.
func newImage(t *testing.T, bin, role string, user uint32, settings string) image {
	t.Helper()
	i := image{filepath.Join(t.TempDir(), role), user}
	in(t, sources.Root(t), "sh", "scripts/rootfs.sh", "go", role, bin, i.root)
	if err := syscall.Mknod(filepath.Join(i.root, "dev/null"), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
		t.Fatalf("make /dev/null: %v", err)
	}
	if err := os.Chmod(filepath.Join(i.root, "dev/null"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(i.root, "etc/salt", role+".d", "test.conf"),
		[]byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	return i
}

// A service is a daemon that runs in an image.
type service struct {
	cmd *exec.Cmd
	log *bufio.Reader
}

// start starts the daemon of an image, as the last lines of the Dockerfile do.
func (i image) start(t *testing.T, program string) *service {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &service{i.command(t, program, "-l", "info"), bufio.NewReader(reader)}
	s.cmd.Stdout, s.cmd.Stderr = writer, writer
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	writer.Close()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it has ended, unless the test failed
		_, _ = s.cmd.Process.Wait()
		reader.Close()
	})
	return s
}

// wait reads the log until a line contains a text.
func (s *service) wait(t *testing.T, text string) {
	t.Helper()
	var all strings.Builder
	for {
		line, err := s.log.ReadString('\n')
		all.WriteString(line)
		if strings.Contains(line, text) {
			return
		}
		if err != nil {
			t.Fatalf("%s has not said %q: %v\n%s", s.cmd.Path, text, err, all.String())
		}
	}
}

// stop stops the daemon as an engine does, and checks that it ends in order.
func (s *service) stop(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, s.log)
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%s: %v", s.cmd.Path, err)
	}
}

// TestImagesServeJobs runs master and minion in the roots of their images, which contain nothing
// else.
func TestImagesServeJobs(t *testing.T) {
	need.Time(t, "it builds the programs")
	requires(t, true, "make")
	bin := t.TempDir()
	in(t, sources.Root(t), "make", "-s", "build", "BIN="+bin)
	ports := freeport.New(t, 2)
	publish, ret := ports[0], ports[1]
	box := newImage(t, bin, "master", 450,
		fmt.Sprintf("interface: 127.0.0.1\npublish_port: %d\nret_port: %d\n", publish, ret))
	other := newImage(t, bin, "minion", 0,
		fmt.Sprintf("id: web1\nmaster: 127.0.0.1\nmaster_port: %d\nacceptance_wait_time: 1\n", ret))
	master := box.start(t, "/usr/bin/salt-master")
	master.wait(t, "listening")
	minion := other.start(t, "/usr/bin/salt-minion")
	minion.wait(t, "salt-key -a web1")
	if out := box.run(t, "/usr/bin/salt-key", "-y", "-A"); !strings.Contains(out,
		"Key for minion web1 accepted.") {
		t.Errorf("salt-key says %q", out)
	}
	minion.wait(t, "Minion is ready to receive requests!")
	if out := box.run(t, "/usr/bin/salt", "-t", "30", "*", "test.ping"); out != "web1:\n    True\n" {
		t.Errorf("salt test.ping says %q", out)
	}
	// As in Salt, cmd.run requires the shell to exist, even if it does not use it.
	out := box.run(t, "/usr/bin/salt", "-t", "30", "*", "cmd.run", "/usr/bin/salt-call --version",
		"python_shell=False", "shell=/usr/bin/salt-call")
	if !strings.HasPrefix(out, "web1:\n    salt-call ") {
		t.Errorf("salt cmd.run says %q", out)
	}
	minion.stop(t)
	master.stop(t)
}

// TestDockerfileUsesTheList checks that the image contains only what rootfs.sh creates, for the
// user of the list.
func TestDockerfileUsesTheList(t *testing.T) {
	body := text(t, "docker/Dockerfile")
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "COPY ") && line != "COPY . .\n" &&
			line != "COPY --from=build /rootfs /\n" {
			t.Errorf("the Dockerfile copies something else: %s", line)
		}
	}
	for _, want := range []string{"scripts/rootfs.sh go $ROLE /out /rootfs",
		"FROM scratch AS master", "FROM scratch AS minion", "USER 450:450", "STOPSIGNAL SIGTERM"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in the Dockerfile", want)
		}
	}
	if !strings.Contains(text(t, "docker/passwd"), "\nsalt:x:450:450:") {
		t.Error("the user salt has another number")
	}
}
