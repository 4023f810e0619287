package dockercompose

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/render"
)

// A host has the module over the program of testdata/bin, and a directory for a project.
type host struct {
	*testing.T
	r   *loader.Registry
	dir string
}

func newHost(t *testing.T) *host {
	t.Helper()
	bin, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE", t.TempDir())
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap("id", "web1")},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return &host{t, r, filepath.Join(t.TempDir(), "p")}
}

func (h *host) call(fun string, args ...any) *data.Map {
	h.Helper()
	v, err := h.r.Invoke(h.Context(), "dockercompose."+fun, append([]any{h.dir}, args...), nil)
	if err != nil {
		h.Fatalf("dockercompose.%s %s: %v", fun, data.Repr(args), err)
	}
	return v.(*data.Map)
}

// gives calls a function and compares its result.
func (h *host) gives(status bool, message string, value any, fun string, args ...any) {
	h.Helper()
	want := outcome(status, strings.ReplaceAll(message, "DIR", h.dir), value)
	if got := h.call(fun, args...); !data.Equal(got, want) {
		h.Errorf("dockercompose.%s %s\n got %s\nwant %s", fun, data.Repr(args), data.Repr(got), data.Repr(want))
	}
}

func (h *host) read() string {
	h.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, "docker-compose.yml"))
	if err != nil {
		h.Fatal(err)
	}
	return string(text)
}

const twoServices = "services:\n  db:\n    image: postgres:16\n  web:\n    image: reg:5000/web:1\n"

// TestFile writes and reads the file: dockercompose.create, dockercompose.get,
// dockercompose.service_create, dockercompose.service_upsert, dockercompose.service_set_tag and
// dockercompose.service_remove. Wrong content changes nothing.
func TestFile(t *testing.T) {
	h := newHost(t)
	h.gives(false, "Path DIR is not present", nil, "get")
	h.gives(false, "Could not find docker-compose file at DIR", nil, "service_remove", "web")
	h.gives(false, "Creating a docker-compose project failed, you must send a valid docker-compose file", nil, "create", "")
	h.gives(false, "Docker-compose command config failed", "services must be a mapping", "create", "x: 1\n")
	for range 2 {
		h.gives(true, "Successfully created the docker-compose file", data.NewMap("compose.base_dir", h.dir), "create",
			"# a comment\n"+twoServices)
		h.gives(true, "Reading content of DIR/docker-compose.yml", data.NewMap("docker-compose.yml", "# a comment\n"+twoServices,
			"valid", true), "get")
	}
	service := func(image string) *data.Map { return data.NewMap("image", image) }
	content := func(services ...any) *data.Map { return data.NewMap("services", data.NewMap(services...)) }
	db, web := service("postgres:16"), service("reg:5000/web:1")
	h.gives(false, "Service web already exists", nil, "service_create", "web", "{image: x}")
	h.gives(true, "Service job created", content("db", db, "web", web, "job", service("busybox")), "service_create", "job",
		`{"image": "busybox"}`)
	before := h.read()
	h.gives(false, "Docker-compose command config failed", "services must be a mapping", "service_create", "bad",
		service("broken"))
	if h.read() != before {
		t.Errorf("the file is now\n%s", h.read())
	}
	for range 2 {
		h.gives(true, "Service definition for job is set", content("db", db, "job", service("alpine"), "web", web), "service_upsert", "job",
			"image: alpine")
	}
	for range 2 {
		h.gives(true, `Service web is set to tag "2"`, content("db", db, "job", service("alpine"), "web", service("reg:5000/web:2")),
			"service_set_tag", "web", int64(2))
	}
	h.gives(false, "Service none did not exists", nil, "service_set_tag", "none", "2")
	h.call("service_upsert", "job", "{build: .}")
	h.gives(false, `Service job did not contain the variable "image"`, nil, "service_set_tag", "job", "2")
	h.gives(true, "Service job is removed from DIR", content("db", db, "web", service("reg:5000/web:2")), "service_remove", "job")
	h.gives(false, "Service job did not exists", nil, "service_remove", "job")
	if left, err := filepath.Glob(h.dir + "/.*"); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A file that is a symbolic link stays one, and its target keeps its owner and mode.
func TestLink(t *testing.T) {
	h := newHost(t)
	link, target := filepath.Join(h.dir, "docker-compose.yml"), filepath.Join(t.TempDir(), "real.yml")
	err := errors.Join(os.Mkdir(h.dir, 0o755), os.WriteFile(target, nil, 0o600), os.Symlink(target, link))
	if os.Getuid() == 0 {
		err = errors.Join(err, os.Chown(target, 12, 34))
	}
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(target)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h.gives(true, "Successfully created the docker-compose file", data.NewMap("compose.base_dir", h.dir), "create",
			twoServices)
		to, err := os.Readlink(link)
		after, _ := os.Stat(target)
		was, now := before.Sys().(*syscall.Stat_t), after.Sys().(*syscall.Stat_t)
		if err != nil || to != target || h.read() != twoServices || after.Mode() != before.Mode() || was.Uid != now.Uid ||
			was.Gid != now.Gid {
			t.Errorf("a link to %s, %v, owner %d, %v", to, after.Mode(), now.Uid, err)
		}
	}
}

// TestContainers runs the functions for containers, twice each: dockercompose.up, dockercompose.ps,
// dockercompose.stop, dockercompose.start, dockercompose.restart, dockercompose.pause,
// dockercompose.unpause, dockercompose.kill, dockercompose.rm, dockercompose.pull and dockercompose.build.
func TestContainers(t *testing.T) {
	h := newHost(t)
	for _, fun := range []string{"up", "ps", "stop", "pull"} {
		h.gives(false, "Could not find docker-compose file at DIR", nil, fun)
	}
	h.call("create", twoServices)
	const adding = "Adding containers via docker-compose"
	h.gives(true, adding, data.NewMap("p-db-1", "Creating container"), "up", []any{"db"})
	h.gives(true, adding, data.NewMap("p-db-1", "Container is up to date", "p-web-1", "Creating container"), "up")
	h.gives(true, adding, data.NewMap("p-db-1", "Container is up to date", "p-web-1", "Container is up to date"), "up")
	state := func(want string) {
		t.Helper()
		got, _ := h.call("ps").Value("return").(*data.Map)
		db, _ := got.Value("p-db-1").(*data.Map)
		if want != db.Text("state") {
			t.Errorf("state %s, want %s", data.Repr(got), want)
		}
	}
	container := func(id, name string) *data.Map {
		return data.NewMap("id", id, "name", name, "command", "/entrypoint.sh --with a lo ...", "state", "Up",
			"ports", "0.0.0.0:8080->80/tcp, 443/tcp")
	}
	h.gives(true, "Listing docker-compose containers", data.NewMap("p-db-1", container("postgres_16", "p-db-1"),
		"p-web-1", container("reg_5000_web_1", "p-web-1")), "ps")
	for _, step := range []struct{ fun, message, state string }{
		{"stop", "Stopping containers via docker-compose", "Exit 3"},
		{"start", "Starting containers via docker-compose", "Up"}, {"pause", "Pausing containers via docker-compose", "Paused"},
		{"unpause", "Un-Pausing containers via docker-compose", "Up"}, {"restart", "Restarting containers via docker-compose", "Up"},
		{"kill", "Killing containers via docker-compose", "Exit 3"},
	} {
		for range 2 {
			h.gives(true, step.message, &data.Map{}, step.fun, []any{"db"})
			state(step.state)
		}
	}
	h.gives(true, adding, data.NewMap("p-db-1", "Starting container", "p-web-1", "Container is up to date"), "up")
	h.call("service_set_tag", "db", "17")
	h.gives(true, adding, data.NewMap("p-db-1", "Re-creating container", "p-web-1", "Container is up to date"), "up")
	h.call("stop")
	for range 2 {
		h.gives(true, "Removing stopped containers via docker-compose", nil, "rm")
		h.gives(true, "Listing docker-compose containers", &data.Map{}, "ps")
		h.gives(true, "Pulling containers images via docker-compose succeeded", nil, "pull", []any{"db"})
		h.gives(true, "Building containers images via docker-compose succeeded", nil, "build")
	}
	h.gives(false, "Docker-compose command stop failed", "no such service: none", "stop", []any{"none"})
	h.gives(false, "Docker-compose command up failed", "no such service: none", "up", []any{"none"})
	for _, bad := range []string{"--rmi", "a\nb"} {
		if got, err := h.r.Invoke(t.Context(), "dockercompose.stop", []any{h.dir, []any{bad}}, nil); err == nil {
			t.Errorf("service %q gives %s", bad, data.Repr(got))
		}
	}
	log, err := os.ReadFile(filepath.Join(os.Getenv("FAKE"), "log"))
	if err != nil || !strings.Contains(string(log), "\nrm --force\n") || !strings.Contains(string(log), "\nup --detach db\n") {
		t.Errorf("ran\n%s%v", log, err)
	}
}

// Releases before 2.21 print a list.
func TestContainersOf(t *testing.T) {
	for _, text := range []string{`[{"ID":"a","Name":"x"},{"ID":"b","Name":"y"}]`,
		"{\"ID\":\"a\",\"Name\":\"x\"}\n{\"ID\":\"b\",\"Name\":\"y\"}\n"} {
		if list, err := containersOf(text); err != nil || len(list) != 2 || list[1].Name != "y" {
			t.Errorf("%s: %+v, %v", text, list, err)
		}
	}
	if list, err := containersOf("Name  State\n"); err == nil {
		t.Errorf("no JSON: %+v", list)
	}
}
