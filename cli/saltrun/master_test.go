package saltrun_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/client"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// running is a place whose master runs, with a minion web1.
func running(t *testing.T) (dir string, list func(envs ...string)) {
	t.Helper()
	dir = place(t, "interface: 127.0.0.1\nret_port: 4506\nauto_accept: true\npidfile: ''\nfileserver_backend: [roots, minion]\n")
	text, err := os.ReadFile(filepath.Join(dir, "master"))
	if err != nil {
		t.Fatal(err)
	}
	roots := fmt.Sprintf("file_roots: {base: [%[1]s/srv], dev: [%[1]s/dev], gone: [%[1]s/gone]}", dir)
	text = []byte(strings.Replace(string(text), "file_roots: {base: ["+dir+"/srv]}", roots, 1))
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("master", string(text))
	write("srv/a", "a")
	write("dev/b", "b")
	cfg, _, err := config.LoadMaster(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg.PublishPort, cfg.RetPort = 0, 0
	m := testsalt.StartMaster(t, cfg)
	write("master", strings.Replace(string(text),
		"ret_port: 4506", fmt.Sprint("ret_port: ", m.Config.RetPort), 1))
	starts := m.Listen(t, "salt/minion/")
	testsalt.StartMinion(t, testsalt.MinionConfig(filepath.Join(dir, "web1"), "web1", m.Address))
	testsalt.AwaitEvent(t, starts, "salt/minion/web1/start")
	local := m.Client(t)
	return dir, func(envs ...string) {
		for _, env := range envs {
			j, err := local.Publish(t.Context(), client.Request{
				Target: "web1", Kind: "list", Fun: "cp.list_master", Arg: []any{env},
				Timeout: 20 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			for r, err := range local.Results(t.Context(), j,
				client.Wait{Timeout: 20 * time.Second, Gather: 5 * time.Second}) {
				if err != nil || r.Missing {
					t.Fatalf("list %s: %v, missing %v", env, err, r.Missing)
				}
			}
		}
	}
}

// TestClearFileListCache makes the running master drop its lists of files. The output is that of
// Salt 3006.18 after the same lists were requested. Salt also keeps a list of an environment
// without directories, and none of one that is in no option.
func TestClearFileListCache(t *testing.T) {
	need.Root(t, "since the configuration names root as the user of the master")
	dir, list := running(t)
	list("base", "dev", "gone", "nix")
	for _, tt := range []struct {
		args, want string
		fill       bool // the lists are asked for again before
	}{
		{args: "saltenv=base", want: `{"roots": ["base"]}`},
		{args: "saltenv=dev,base", want: `{"roots": ["dev"]}`},
		{args: "", want: `{"roots": ["gone"]}`},
		{args: "", want: `{}`},
		{args: "backend=git", want: `{}`, fill: true},
		{args: "backend=nix", want: `{}`},
		{args: "backend=-roots", want: `{}`},
		{args: "saltenv=", want: `{}`},
		{args: "saltenv=[]", want: `{}`},
		{args: "backend=roots saltenv=['base']", want: `{"roots": ["base"]}`},
		{args: "backend=-minion", want: `{"roots": ["dev", "gone"]}`},
		{args: "backend=", want: `{"roots": ["base", "dev", "gone"]}`, fill: true},
	} {
		if tt.fill {
			list("base", "dev", "gone", "nix")
		}
		call := []string{"fileserver.clear_file_list_cache", "--out=json", "--out-indent=-1"}
		stdout, stderr, code := run(t, dir, append(call, strings.Fields(tt.args)...)...)
		if code != 0 || strings.TrimSpace(stdout) != tt.want {
			t.Errorf("clear_file_list_cache %s: exit %d, printed %q (%s), want %s", tt.args, code,
				stdout, stderr, tt.want)
		}
	}
}

// TestClearFileListCacheNeedsTheKey runs without the key file: the running master is not called,
// which is an error.
func TestClearFileListCacheNeedsTheKey(t *testing.T) {
	need.Root(t, "since the configuration names root as the user of the master")
	dir := place(t, "")
	stdout, stderr, code := run(t, dir, "fileserver.clear_file_list_cache", "--out=json")
	if code != 0 || stdout != "{}\n" {
		t.Errorf("no master: exit %d, %q %s", code, stdout, stderr)
	}
	busOf(t, dir)
	stdout, stderr, code = run(t, dir, "fileserver.clear_file_list_cache")
	if code != 1 || !strings.Contains(stdout, "clear lists of files in the running master: ") ||
		!strings.Contains(stdout, "_key") {
		t.Errorf("no key: exit %d, %q %s", code, stdout, stderr)
	}
}
