// Package need checks a test's requirements on the machine. If one is missing, the test is skipped
// with the reason; if BRINE_REQUIRE_ALL is set, as in CI, the test fails.
package need

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Missing ends the test; why describes the missing requirement.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("BRINE_REQUIRE_ALL") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// That ends the test if err is not nil; what names the missing thing.
func That(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		Missing(t, "there is no "+what+": "+err.Error())
	}
}

// Have ends the test unless the machine has a thing.
func Have(t testing.TB, what string, have bool) {
	t.Helper()
	if !have {
		Missing(t, "there is no "+what)
	}
}

// Program ends the test unless all these programs are in the PATH or in the directories of system
// programs.
func Program(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		Have(t, "program "+name, found(name))
	}
}

func found(name string) bool {
	for _, path := range []string{name, filepath.Join("/usr/sbin", name),
		filepath.Join("/sbin", name)} {
		if _, err := exec.LookPath(path); err == nil {
			return true
		}
	}
	return false
}

// Root ends the test unless it runs as root; why says what needs root.
func Root(t testing.TB, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		Missing(t, "it takes root "+why)
	}
}

// Time ends the test in short mode; why says what takes long.
func Time(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in short mode: " + why)
	}
}

// Network runs a test again in a network namespace of its own, where it may set packet filter rules
// and addresses, and reports whether this is that run. It needs root and the program unshare;
// filter has commands that must work in such a network.
func Network(t *testing.T, filter ...string) bool {
	t.Helper()
	return apart(t, space{flag: "-n", variable: "BRINE_OWN_NETWORK", name: "network"}, filter...)
}

// Mounts runs a test again in a mount namespace of its own, where it may mount file systems, and
// reports whether this is that run. It needs root and the program unshare.
func Mounts(t *testing.T) bool {
	t.Helper()
	return apart(t, space{flag: "-m", variable: "BRINE_OWN_MOUNTS", name: "space of mounts"}, "true")
}

// A space is a kind of namespace.
type space struct {
	flag     string // of unshare
	variable string // environment variable that tells a run in it
	name     string
}

// inside is how much earlier than the test a run in a namespace of its own ends, to be reported.
const inside = 5 * time.Second

// apart runs a test again in a namespace of its own, in which commands must work, and reports whether
// this is that run.
func apart(t *testing.T, s space, works ...string) bool {
	t.Helper()
	if os.Getenv(s.variable) == "1" {
		return true
	}
	Root(t, "to make a "+s.name)
	Program(t, "unshare")
	for _, command := range works {
		words := strings.Fields(command)
		Program(t, words[0])
		if out, err := exec.Command("unshare", append([]string{s.flag}, words...)...).CombinedOutput(); err != nil {
			Missing(t, command+" does not work in a "+s.name+" of its own: "+string(out))
		}
	}
	args := []string{s.flag, os.Args[0], "-test.run=^" + t.Name() + "$", "-test.v"}
	if end, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout="+time.Until(end.Add(-inside)).String())
	}
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), s.variable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("in a %s of its own: %v\n%s", s.name, err, out)
	} else {
		t.Logf("in a %s of its own:\n%s", s.name, out)
	}
	return false
}
