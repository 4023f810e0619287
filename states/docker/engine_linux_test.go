package docker_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdocker"
)

// four runs a state in test mode, for real, again, and in test mode again. It must change something in the
// first two runs and nothing in the others.
func four(t *testing.T, m *testdocker.Minion, fun, name string, kwargs ...any) {
	t.Helper()
	for i, want := range []string{"None ", "True {'", "True {} ", "True {} "} {
		if got := state(t, m, i%3 == 0, fun, name, kwargs...); !strings.HasPrefix(got, want) {
			t.Errorf("run %d of %s %s: %s, want %s", i, fun, name, got, want)
		}
	}
}

// TestEngine runs the states over a real engine.
func TestEngine(t *testing.T) {
	m := testdocker.NewMinionOf(t, testdocker.Real(t), functions(), states())
	call := func(want any, fun string, args []any, kwargs ...any) any {
		t.Helper()
		v, err := m.Call(t, fun, args, data.NewMap(kwargs...))
		if err != nil || want != nil && !data.Equal(v, want) {
			t.Errorf("%s %s: %s, %v, want %s", fun, data.Repr(args), data.Repr(v), err, data.Repr(want))
		}
		return v
	}
	call(nil, "docker.import", []any{testdocker.Box(t), "box", "1"})
	dir := t.TempDir()
	save := filepath.Join(dir, "box.tar.gz")
	call(nil, "docker.save", []any{"box:1", save})
	build := filepath.Join(dir, "build")
	if err := os.Mkdir(build, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(build, "Dockerfile"), []byte("FROM box:1\nENV MADE=yes\nCOPY file /etc/file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(build, "file"), []byte("content"), 0o644); err != nil { // web runs as 1000
		t.Fatal(err)
	}
	four(t, m, "docker_image.present", "me/box", "build", build, "tag", "1")
	four(t, m, "docker_volume.present", "vol")
	four(t, m, "docker_network.present", "net1", "subnet", "10.123.45.0/24", "labels", []any{"a=b"})
	four(t, m, "docker_network.present", "net1", "subnet", "10.123.45.0/24", "labels", []any{"a=c"})
	web := []any{"image", "me/box:1", "command", "/bin/sleep 60", "environment", []any{data.NewMap("A", "1")}, "binds", []any{"vol:/data"},
		"labels", []any{"role=web"}, "restart_policy", "on-failure:3", "ulimits", "nofile=512:1024", "extra_hosts", "db:10.0.0.5",
		"dns", "8.8.8.8", "cap_add", "NET_ADMIN", "tmpfs", []any{data.NewMap("/scratch", "rw")}, "log_driver", "json-file",
		"log_opt", []any{data.NewMap("max-size", "1m")}, "publish", "8080:80", "hostname", "web1", "working_dir", "/etc",
		"stop_timeout", int64(1)}
	four(t, m, "docker_container.running", "web", append(web, "network_mode", "none")...)
	four(t, m, "docker_container.running", "web", append(web, "network_mode", "none", "user", "1000")...)
	four(t, m, "docker_container.running", "plain", "image", "me/box:1", "command", "sleep 60", "network_mode", "none",
		"stop_timeout", int64(1))
	four(t, m, "docker_container.running", "plain", "image", "box:1", "command", "sleep 60", "network_mode", "none", "stop_timeout", int64(1))

	call("yes", "docker.run", []any{"web", "echo yes"})
	call("in", "docker.run", []any{"web", "cat"}, "stdin", "in")
	t.Setenv("KEPT", "marker")
	call("PATH=/bin:/usr/bin:/sbin:/usr/sbin:/opt/bin:/usr/local/bin:/usr/local/sbin", "docker.run", []any{"web", "env"})
	kept, _ := call(nil, "docker.run", []any{"web", "env"}, "keep_env", []any{"KEPT", "A"}).(string)
	if lines := strings.Split(kept, "\n"); len(lines) != 2 || !slices.Contains(lines, "KEPT=marker") {
		t.Errorf("the kept variables are %q", lines)
	}
	call("content", "docker.run", []any{"web", "cat file"})
	call(int64(3), "docker.retcode", []any{"web", "exit 3"})
	source := filepath.Join(dir, "source")
	if err := os.WriteFile(source, []byte("copied"), 0o600); err != nil {
		t.Fatal(err)
	}
	call(true, "docker.copy_to", []any{"plain", source, "/tmp/copy"})
	call(true, "docker.copy_to", []any{"plain", source, "/tmp/copy"}, "overwrite", true)
	call("copied", "docker.run", []any{"plain", "cat /tmp/copy"})
	call(true, "docker.copy_from", []any{"plain", "/tmp/copy", filepath.Join(dir, "back")})
	if text, err := os.ReadFile(filepath.Join(dir, "back")); err != nil || string(text) != "copied" {
		t.Errorf("copied back: %q, %v", text, err)
	}
	ran := call(nil, "docker.run_container", []any{"box:1"}, "cmd", "echo hello", "network_mode", "none").(*data.Map)
	if ran.Value("Logs") != "hello\n" || ran.Value("ExitCode") != int64(0) {
		t.Errorf("docker.run_container returns %s", data.Repr(ran))
	}
	call([]any{"plain", "web"}, "docker.list_containers", nil)
	four(t, m, "docker_container.stopped", "web")
	four(t, m, "docker_container.absent", "web")
	four(t, m, "docker_container.absent", "plain", "force", true)
	four(t, m, "docker_network.absent", "net1")
	call(nil, "docker.prune", nil)
	four(t, m, "docker_volume.absent", "vol")
	four(t, m, "docker_image.absent", "me/box:1")
	if got := state(t, m, false, "docker_image.present", "box:1"); got != "True {} Image box:1 already present" {
		t.Errorf("the image of the built one: %s", got)
	}
	call(nil, "docker.rmi", []any{"box:1"})
	four(t, m, "docker_image.present", "loaded/box", "load", save, "tag", "1")
}
