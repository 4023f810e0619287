package sysctl

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/internal/test/replay"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/render"
)

// testdata/calls.json holds the commands and results of Salt 3006.0 on the system below
// testdata/root.
func TestCalls(t *testing.T) {
	fake(t, "exit 1")
	root, err := filepath.Abs("testdata/root")
	if err != nil {
		t.Fatal(err)
	}
	replay.Check(t, "testdata/calls.json", replay.Options{Root: root, Plugins: []loader.Plugin{Plugin()}})
}

// fake puts a program sysctl in front of the search path.
func fake(t *testing.T, body string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sysctl"), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// network creates a network namespace, whose parameters may be changed, and makes sysctl work
// there.
func network(t *testing.T) {
	t.Helper()
	real := process.Find("sysctl")
	if os.Getuid() != 0 || real == "" || process.Find("unshare") == "" || process.Find("nsenter") == "" {
		need.Missing(t, "it needs root, sysctl, unshare and nsenter")
	}
	cmd := exec.Command("unshare", "-n", "sh", "-c", "echo; read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		need.Missing(t, "there can be no namespace of the network: "+err.Error())
	}
	fake(t, fmt.Sprintf(`exec nsenter -t %d -n %s "$@"`, cmd.Process.Pid, real))
}

// TestPersistForReal runs the host's program on parameters of a separate network namespace.
func TestPersistForReal(t *testing.T) {
	network(t)
	root := t.TempDir()
	for _, p := range []string{"proc/sys/net/ipv4/ip_default_ttl", "proc/sys/net/ipv4/tcp_rmem"} {
		if err := os.MkdirAll(filepath.Join(root, p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := &loader.Env{Root: root, Opts: data.NewMap("id", "web1"),
		Grains: func() *data.Map { return data.NewMap("kernel", "Linux") }}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin(), cmd.Plugin(render.Brought{})})
	if err != nil {
		t.Fatal(err)
	}
	call := func(fun string, args ...any) string {
		v, err := r.Invoke(t.Context(), "sysctl."+fun, args, nil)
		if err != nil {
			return "error: " + err.Error()
		}
		return data.Str(v)
	}
	file := filepath.Join(root, "etc/sysctl.d/x.conf")
	for _, c := range []struct {
		name  string
		value any
		want  [2]string
		now   string
	}{
		{"net.ipv4.ip_default_ttl", int64(61), [2]string{"Updated", "Already set"}, "61"},
		{"net.ipv4.ip_default_ttl", "62", [2]string{"Updated", "Already set"}, "62"},
		{"net.ipv4.tcp_rmem", "4096 131072 6291455", [2]string{"Updated", "Already set"},
			"4096\t131072\t6291455"},
	} {
		for _, want := range c.want {
			if got := call("persist", c.name, c.value, "/etc/sysctl.d/x.conf"); got != want {
				t.Errorf("persist %s %v: %s, want %s", c.name, c.value, got, want)
			}
		}
		if got := call("get", c.name); got != c.now {
			t.Errorf("%s is %q, want %q", c.name, got, c.now)
		}
	}
	want := "#\n# Kernel sysctl configuration\n#\nnet.ipv4.ip_default_ttl = 62\nnet.ipv4.tcp_rmem = 4096 131072 6291455\n"
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("the file has %q, %v", got, err)
	}
	if got := call("assign", "net.ipv4.ip_default_ttl", int64(999)); !strings.Contains(got,
		"sysctl -w failed: ") || !strings.Contains(got, "Invalid argument") {
		t.Errorf("a value that the kernel does not take: %s", got)
	}
}

func TestEdited(t *testing.T) {
	for _, c := range []struct {
		text, want string
		same       bool
	}{
		{"", "k = 1 2\n", false},
		{"a=1\n#k = 1 2\n", "a=1\n#k = 1 2\nk = 1 2\n", false},
		{"a=1", "a=1\nk = 1 2\n", false},
		{"k=3\nb = 4\n", "k = 1 2\nb = 4\n", false},
		{"b\nk=1\t2\n", "b\nk=1\t2\n", true},
	} {
		if got, same := edited(c.text, "k", "1 2"); got != c.want || same != c.same {
			t.Errorf("%q becomes %q, %v", c.text, got, same)
		}
	}
}

func FuzzEdited(f *testing.F) {
	f.Add("# c\nnet.ipv4.ip_forward = 1\n", "net.ipv4.ip_forward", "0")
	f.Add("a\x00=\r\n=", "k", "")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		if strings.ContainsAny(name+value, "=\n\r#") || strings.TrimSpace(name) != name ||
			strings.TrimSpace(value) != value || name == "" {
			return
		}
		once, _ := edited(text, name, value)
		if twice, same := edited(once, name, value); !same || twice != once {
			t.Errorf("%q becomes %q, then %q", text, once, twice)
		}
	})
}
