// Package need checks a test's requirements on the machine. If one is missing, the test is skipped
// with the reason; if BRINE_REQUIRE_ALL is set, as in CI, the test fails.
package need

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
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
// filter names programs that must work in such a network.
func Network(t *testing.T, filter ...string) bool {
	t.Helper()
	const own = "BRINE_OWN_NETWORK"
	if os.Getenv(own) == "1" {
		return true
	}
	Root(t, "to make a network")
	Program(t, append([]string{"unshare"}, filter...)...)
	for _, name := range filter {
		if out, err := exec.Command("unshare", "-n", name).CombinedOutput(); err != nil {
			Missing(t, name+" does not work in a network of its own: "+string(out))
		}
	}
	cmd := exec.Command("unshare", "-n", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), own+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("in a network of its own: %v\n%s", err, out)
	}
	return false
}
