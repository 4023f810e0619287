package haproxy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/daemon"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
)

// start starts HAProxy with testdata/haproxy.cfg and returns the directory of its sockets.
func start(t *testing.T) string {
	t.Helper()
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin")
	dir, err := os.MkdirTemp("", "h") // short enough for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	text, err := os.ReadFile("testdata/haproxy.cfg")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "ROOT", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	daemon.Start(t, "unix", filepath.Join(dir, "s"), "haproxy", "-db", "-f", file)
	return dir
}

// testdata/calls.json has the results of Salt 3006.18 with the same HAProxy, each call after the one before.
func TestCalls(t *testing.T) {
	dir := start(t)
	replay.Check(t, "testdata/calls.json", replay.Options{Root: dir, Plugins: []loader.Plugin{Plugin()}})
}

func registry(t *testing.T) *loader.Registry {
	t.Helper()
	r, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// haproxy.set_weight sets the weight, and errors of HAProxy are errors.
func TestChanges(t *testing.T) {
	dir := start(t)
	r := registry(t)
	socket := data.NewMap("socket", filepath.Join(dir, "s"))
	for range 2 {
		got, err := r.Invoke(t.Context(), "haproxy.set_weight", []any{"a", "www", int64(13)}, socket)
		if err != nil || got != "13 (initial 10)\n\n" {
			t.Errorf("set_weight gives %q, %v", got, err)
		}
	}
	got, err := r.Invoke(t.Context(), "haproxy.wait_state", []any{"www", "a", "up", 0.1}, socket)
	if err != nil || got != false {
		t.Errorf("waiting for a state that does not come gives %v, %v", got, err)
	}
	for call, want := range map[string]string{
		"enable_server x www s":     "enable server www/x: No such server.",
		"disable_server a none s":   "disable server none/a: No such backend.",
		"disable_server a www user": "disable server www/a: Permission denied",
		"wait_state www x up s":     "'x'",
	} {
		words := strings.Fields(call)
		n := len(words) - 1
		got, err := r.Invoke(t.Context(), "haproxy."+words[0], data.Values(words[1:n]),
			data.NewMap("socket", filepath.Join(dir, words[n])))
		if err == nil || err.Error() != want {
			t.Errorf("%s gives %v, %v, want %s", call, got, err, want)
		}
	}
	_, err = r.Invoke(t.Context(), "haproxy.set_weight", []any{"x", "www", int64(13)}, socket)
	if err == nil || !strings.Contains(err.Error(), "No such server") {
		t.Errorf("the weight of no server: %v", err)
	}
}

// An argument cannot bring further commands.
func TestNames(t *testing.T) {
	r := registry(t)
	for _, args := range [][]any{{"enable_server", "a;b", "www"}, {"disable_server", "a", "w\nw"},
		{"get_weight", "a b", "www"}, {"set_weight", "a", "www", "1;shutdown"}, {"set_state", "a", "www", "a b"},
		{"set_state", "a/b", "www", "ready"}} {
		if got, err := r.Invoke(t.Context(), "haproxy."+args[0].(string), args[1:],
			data.NewMap("socket", "/nonexistent")); loader.KindOf(err) != loader.KindInvocation {
			t.Errorf("%v gives %v, %v", args, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# pxname,svname,qcur,scur,status,weight,bin,bout,\nwww,a,0,3,UP,1,5,6,\nwww,BACKEND\n\n")
	f.Add("#\n,\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := parse(text)
		if err == nil && len(rows) > strings.Count(text, "\n")+1 {
			t.Errorf("%d rows", len(rows))
		}
		table(rows)
	})
}
