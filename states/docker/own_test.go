package docker_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testdocker"
)

// state runs a state and returns its result and comment as one text.
func state(t *testing.T, m *testdocker.Minion, test bool, fun, name string, kwargs ...any) string {
	t.Helper()
	all := data.NewMap(kwargs...)
	all.Set("name", name)
	v, err := m.State(t, test, fun, all)
	if err != nil {
		t.Fatalf("%s %s: %v", fun, name, err)
	}
	if p, ok := v.(interface{ Plain() any }); ok {
		v = p.Plain()
	}
	ret := v.(*data.Map)
	return data.Repr(ret.Value("result")) + " " + data.Repr(ret.Value("changes")) + " " + ret.Text("comment")
}

// TestOwn checks what differs from Salt.
func TestOwn(t *testing.T) {
	m := testdocker.NewMinion(t, functions(), states())
	for _, tt := range []struct {
		test      bool
		fun, name string
		kwargs    []any
		want      string
	}{
		// Salt removes the volume in test mode
		{false, "docker_volume.present", "v", nil, "True {'created': "},
		{true, "docker_volume.absent", "v", nil, "None {} The volume 'v' will be removed"},
		{true, "docker_volume.absent", "v", nil, "None {} The volume 'v' will be removed"},
		{false, "docker_volume.absent", "v", nil, "True {'removed': True} "},
		// for Salt a pull with an error is a success
		{false, "docker_image.present", "alpine:broken", nil, "False {} Encountered error pulling alpine:broken: manifest is broken"},
		{false, "docker_container.running", "c", []any{"image", "alpine:broken"}, "False {} Failed to pull alpine:broken: manifest is broken"},
		{false, "docker_image.present", "i", []any{"sls", "web", "tag", "1"}, "False {} docker_image.present with sls is not supported"},
		{false, "docker_container.running", "c", []any{"image", "busybox", "networks", []any{int64(5)}},
			"False {} The following networks are not present: 5"},
		// Salt leaves the container that it could not connect
		{false, "docker_container.running", "c", []any{"image", "busybox", "networks",
			[]any{data.NewMap("bridge", []any{data.NewMap("bogus", int64(1))})}}, "False {} Unable to perform connect_container_to_network"},
		{false, "docker_container.absent", "c", nil, "True {} Container 'c' does not exist"},
	} {
		if got := state(t, m, tt.test, tt.fun, tt.name, tt.kwargs...); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s %s: %s, want %s", tt.fun, tt.name, got, tt.want)
		}
	}
}

// TestConnectInTestMode checks that test mode connects no containers, as it does in Salt.
func TestConnectInTestMode(t *testing.T) {
	m := testdocker.NewMinion(t, functions(), states())
	state(t, m, false, "docker_network.present", "net1")
	state(t, m, false, "docker_container.running", "c", "image", "busybox", "command", "sleep 60")
	for i, want := range []string{
		"None {'connected': ['c']} Network 'net1' already exists, and is configured as specified. " +
			"The following container(s) would be connected: c",
		"True {'connected': ['c']} Network 'net1' already exists, and is configured as specified",
		"True {} Network 'net1' already exists, and is configured as specified",
		"True {} Network 'net1' already exists, and is configured as specified",
	} {
		m.Engine.Asked()
		test := i == 0 || i == 3
		if got := state(t, m, test, "docker_network.present", "net1", "containers", []any{"c"}); got != want {
			t.Errorf("run %d: %s", i, got)
		}
		asked := strings.Join(m.Engine.Asked(), "\n")
		if connected := strings.Contains(asked, "/connect"); connected != (i == 1) {
			t.Errorf("run %d asks the engine for\n%s", i, asked)
		}
	}
}

// TestBuildAndLoad makes images that are not pulled: test mode, for real, again, test mode again.
func TestBuildAndLoad(t *testing.T) {
	m := testdocker.NewMinion(t, functions(), states())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte("FROM busybox\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	saved := filepath.Join(dir, "saved.tar")
	if _, err := m.Call(t, "docker.save", []any{"busybox", saved}, data.NewMap()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		key, path, action string
	}{{"build", dir, "built"}, {"load", saved, "loaded"}} {
		name := "me/" + tt.action
		kwargs := []any{tt.key, tt.path, "tag", "1"}
		for i, want := range []string{"None {} Image " + name + ":1 will be " + tt.action, "True {'Time_Elapsed': ",
			"True {} Image " + name + ":1 already present", "True {} Image " + name + ":1 already present"} {
			got := state(t, m, i%3 == 0, "docker_image.present", name, kwargs...)
			if !strings.HasPrefix(got, want) || i == 1 && !strings.HasSuffix(got, "Image '"+name+":1' was "+tt.action) {
				t.Errorf("run %d of %s: %s, want %s", i, tt.key, got, want)
			}
		}
		missing := state(t, m, false, "docker_image.present", name, tt.key, "/nosuch", "tag", "2")
		if !strings.HasPrefix(missing, "False {} Encountered error ") {
			t.Errorf("%s of nothing: %s", tt.key, missing)
		}
	}
}
