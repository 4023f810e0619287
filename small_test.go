package brine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// smallBudget is the most that the minion of a small build may have on armv7, in bytes: 3 % above what it had last.
const smallBudget = 10_400_000

// smallWithout lists packages that a small build must not reach: they are large, or make the linker keep much.
var smallWithout = []string{
	"net/http", "crypto/tls", "text/template", "html/template", "database/sql", "modernc.org/sqlite", "github.com/urfave/cli/v2",
}

func TestSmallMinionReachesNothingLarge(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags", "small", "./cmd/salt-minion").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 100 {
		t.Fatalf("go list names %d packages only", len(deps))
	}
	for _, dep := range deps {
		if hasPrefix(dep, smallWithout) {
			t.Errorf("the small minion reaches %s", dep)
		}
	}
}

// TestSmallMinionKeepsToItsSize also holds that the linker may drop methods that nobody calls, which it cannot where
// methods are looked up by name (reflect.Value.MethodByName).
func TestSmallMinionKeepsToItsSize(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "salt-minion")
	cmd := exec.Command("go", "build", "-tags", "small", "-trimpath", "-ldflags", "-s -w -dumpdep", "-o", bin, "./cmd/salt-minion")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm", "GOARM=7", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out[max(0, len(out)-2000):])
	}
	if !strings.Contains(string(out), "main.main -> ") {
		t.Fatal("the linker lists no dependencies")
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "<ReflectMethod>") {
			t.Errorf("methods are looked up by name: %s", line)
		}
	}
	info, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, of %d", info.Size(), smallBudget)
	if info.Size() > smallBudget {
		t.Errorf("the small minion has %d bytes, more than the %d that it may have", info.Size(), smallBudget)
	}
}

// TestMinionBuildsForEverySystem compiles the minion for the systems on which these tests do not run.
func TestMinionBuildsForEverySystem(t *testing.T) {
	for _, target := range []string{"windows/amd64", "darwin/arm64", "freebsd/amd64"} {
		t.Run(target, func(t *testing.T) {
			system, machine, _ := strings.Cut(target, "/")
			cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", os.DevNull, "./cmd/salt-minion")
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("go build: %v\n%s", err, out)
			}
		})
	}
}
