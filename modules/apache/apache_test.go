package apache

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	"github.com/brineproject/brine/modules/webutil"
	"github.com/brineproject/brine/render"
)

// registry returns the module on a host with the programs that the tests of the states have.
func registry(t *testing.T, family string, opts ...any) (*loader.Registry, string) {
	t.Helper()
	bin, err := filepath.Abs("../../states/apache/testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	t.Setenv("FAKE", root)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, name := range []string{"mods-available/cgi.load", "mods-available/sticky.load",
		"mods-enabled/sticky.load", "sites-available/example.com.conf", "sites-available/000-default.conf",
		"conf-available/security.conf", "sites-enabled/x", "conf-enabled/x"} {
		path := filepath.Join(root, "etc/apache2", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../sites-available/000-default.conf",
		filepath.Join(root, "etc/apache2/sites-enabled/000-default.conf")); err != nil {
		t.Fatal(err)
	}
	grains := data.NewMap("os_family", family)
	r, err := loader.NewRegistry(&loader.Env{Opts: data.NewMap(append([]any{"id", "web1"}, opts...)...), Root: root,
		Grains: func() *data.Map { return grains }},
		[]loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(), webutil.Plugin(), Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	return r, root
}

// TestCalls makes calls in sequence, with the answers of Salt 3006.18: apache.version,
// apache.fullversion, apache.modules, apache.servermods, apache.directives, apache.vhosts,
// apache.signal, apache.a2enmod, apache.a2dismod, apache.check_mod_enabled, apache.a2ensite,
// apache.a2dissite, apache.check_site_enabled, apache.a2enconf, apache.a2disconf,
// apache.check_conf_enabled and apache.config.
func TestCalls(t *testing.T) {
	r, _ := registry(t, "Debian")
	calls.Sequence(t, "testdata/calls.json", r.Invoke)
}

// On SUSE a2enmod lists the modules; there are no sites.
func TestSUSE(t *testing.T) {
	r, _ := registry(t, "Suse")
	for _, step := range []struct {
		fun, mod string
		want     any
	}{{"check_mod_enabled", "cgi", false}, {"a2enmod", "cgi", nil}, {"check_mod_enabled", "cgi", true},
		{"check_mod_enabled", "cgi.conf", true}, {"a2dismod", "cgi", nil}, {"check_mod_enabled", "cgi", false}} {
		got, err := r.Invoke(t.Context(), "apache."+step.fun, []any{step.mod}, nil)
		if err != nil || step.want != nil && got != step.want {
			t.Errorf("%s %s gives %s, %v", step.fun, step.mod, data.Repr(got), err)
		}
	}
	if r.Has("apache.a2ensite") || r.Has("apache.a2enconf") {
		t.Error("there are functions for sites")
	}
}

// apache.config writes the file once more without a change, and keeps a link.
func TestConfig(t *testing.T) {
	r, root := registry(t, "Debian")
	file, link := filepath.Join(root, "ports.conf"), filepath.Join(root, "link.conf")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, link} {
		conf := []any{data.NewMap("Listen", int64(80)), data.NewMap("IfModule",
			data.NewMap("this", "ssl", "Timeout", int64(5), "KeepAlive", nil))}
		got, err := r.Invoke(t.Context(), "apache.config", []any{name, conf}, nil)
		want := "Listen 80\n<IfModule ssl>\nTimeout 5\n</IfModule>\n"
		text, _ := os.ReadFile(file)
		if err != nil || got != want || string(text) != "# This file is managed by Salt.\n"+want {
			t.Errorf("%s: %q, %v, file %q", name, got, err, text)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link: %v, %v", info, err)
	}
	for _, bad := range []any{"Listen 80", &data.Map{}} {
		if got, err := r.Invoke(t.Context(), "apache.config", []any{file, []any{bad}}, nil); err == nil {
			t.Errorf("%s gives %v", data.Repr(bad), got)
		}
	}
}

// Names reach the programs neither as options nor as several lines.
func TestRefused(t *testing.T) {
	r, _ := registry(t, "Debian")
	for _, bad := range []string{"--force", "a\nb"} {
		for _, fun := range []string{"a2enmod", "a2dismod", "a2ensite", "a2dissite", "a2enconf", "a2disconf"} {
			if got, err := r.Invoke(t.Context(), "apache."+fun, []any{bad}, nil); err == nil {
				t.Errorf("%s %q gives %s", fun, bad, data.Repr(got))
			}
		}
	}
}

// apache.useradd and apache.userdel hand their arguments to the module webutil.
func TestUsers(t *testing.T) {
	r, root := registry(t, "Debian")
	file := filepath.Join(root, "passwords")
	if !r.Has("webutil.useradd") {
		t.Skip("there is no htpasswd")
	}
	for range 2 {
		if _, err := r.Invoke(t.Context(), "apache.useradd", []any{file, "larry", "secret"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), "larry:") != 1 {
		t.Errorf("file %q, %v", text, err)
	}
	if _, err := r.Invoke(t.Context(), "apache.userdel", []any{file, "larry"}, nil); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || len(text) > 0 {
		t.Errorf("file %q, %v", text, err)
	}
}

// apache.server_status reads a page with and without a password, and gives error for one that is
// not there.
func TestServerStatus(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		user, password, _ := q.BasicAuth()
		if q.URL.RawQuery != "auto" || user != "someuser" || password != "secret" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte("localhost\nServerVersion: Apache/2.4.62\nTotal Accesses: 12\nCPULoad: .5\nScoreboard: __W.K?\n"))
	}))
	defer s.Close()
	profile := func(words ...any) *data.Map { return data.NewMap(append([]any{"url", s.URL + "/x"}, words...)...) }
	r, _ := registry(t, "Debian", "apache.server-status", data.NewMap("default",
		profile("user", "someuser", "pass", "secret"), "open", profile(), "gone", data.NewMap("url", "http://127.0.0.1:1/x")))
	board := data.NewMap("_", int64(2), "S", int64(0), "R", int64(0), "W", int64(1), "K", int64(1), "D", int64(0),
		"C", int64(0), "L", int64(0), "G", int64(0), "I", int64(0), ".", int64(1), "?", int64(1))
	want := data.NewMap("Scoreboard", board, "ServerVersion", "Apache/2.4.62", "Total Accesses", int64(12), "CPULoad", 0.5)
	for name, want := range map[string]any{"default": want, "open": "error", "gone": "error"} {
		got, err := r.Invoke(t.Context(), "apache.server_status", []any{name}, nil)
		if err != nil || !data.Equal(got, want) {
			t.Errorf("apache.server_status %s gives %s, %v", name, data.Repr(got), err)
		}
	}
}
