package brine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/sources"
	"github.com/brineproject/brine/internal/test/need"
)

// smallBudget is the maximum size of the minion of a small build on armv7, in bytes: 3 % above its
// last size.
const smallBudget = 18_700_000

// minionBudget is the maximum size of the full minion on amd64.
const minionBudget = 40_000_000

// smallWithout lists packages that a small build must not import: they are large, or make the
// linker keep much code.
var smallWithout = []string{
	"net/http", "crypto/tls", "text/template", "html/template", "database/sql",
	"modernc.org/sqlite", "github.com/urfave/cli/v2",
}

func TestSmallMinionImportsNothingLarge(t *testing.T) {
	reachesNone(t, "small", "./cmd/salt-minion", smallWithout)
}

// TestMinionReachesNoTemplates checks that the minion's programs contain no code that looks methods
// up by name, as github.com/urfave/cli does through text/template.
func TestMinionReachesNoTemplates(t *testing.T) {
	for _, program := range []string{"./cmd/salt-minion", "./cmd/salt-call"} {
		reachesNone(t, "", program, []string{"text/template", "html/template", "modernc.org/sqlite",
			"github.com/urfave/cli/v2"})
	}
}

// TestOnlySaltAPIReachesOIDC checks that the other programs contain nothing of logins at a provider.
func TestOnlySaltAPIReachesOIDC(t *testing.T) {
	for _, name := range []string{"salt", "salt-call", "salt-cp", "salt-key", "salt-master", "salt-minion", "salt-run"} {
		reachesNone(t, "", "./cmd/"+name, []string{"github.com/coreos/go-oidc", "golang.org/x/oauth2", "github.com/go-jose/go-jose"})
	}
}

// TestProgramsReachNoBrowser checks that what drives a browser is for tests only.
func TestProgramsReachNoBrowser(t *testing.T) {
	reachesNone(t, "", "./cmd/...", []string{"github.com/chromedp", module + "internal/test"})
}

// TestOnlyTheMasterReachesBrokers checks that the other programs contain no clients of message brokers.
func TestOnlyTheMasterReachesBrokers(t *testing.T) {
	programs, err := filepath.Glob(filepath.Join(sources.Root(t), "cmd", "*"))
	if err != nil || len(programs) < 5 {
		t.Fatalf("programs: %q, %v", programs, err)
	}
	for _, program := range programs {
		if name := filepath.Base(program); name != "salt-master" {
			reachesNone(t, "", "./cmd/"+name, []string{"github.com/nats-io", "github.com/eclipse",
				"github.com/twmb", module + "engines/sink"})
		}
	}
}

// reachesNone fails if a program depends on one of the packages in without, or on packages below
// them, in a build with these tags.
func reachesNone(t *testing.T, tags, program string, without []string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-tags", tags, program)
	cmd.Dir = sources.Root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 100 {
		t.Fatalf("go list names %d packages only", len(deps))
	}
	for _, dep := range deps {
		if hasPrefix(dep, without) {
			t.Errorf("%s reaches %s", program, dep)
		}
	}
}

func TestSmallMinionKeepsToItsSize(t *testing.T) {
	need.Time(t, "it builds the minion for another processor")
	keepsToSize(t, smallBudget, "small", "./cmd/salt-minion", "GOARCH=arm", "GOARM=7")
}

func TestMinionKeepsToItsSize(t *testing.T) {
	need.Time(t, "it builds the minion")
	keepsToSize(t, minionBudget, "", "./cmd/salt-minion", "GOARCH=amd64")
}

// keepsToSize builds a program and checks its size. It also checks that the linker may drop unused
// methods, which it cannot if methods are looked up by name (reflect.Value.MethodByName).
func keepsToSize(t *testing.T, budget int64, tags, program string, env ...string) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-tags", tags, "-trimpath", "-ldflags", "-s -w -dumpdep",
		"-o", bin, program)
	cmd.Dir = sources.Root(t)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS="), env...)
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
	t.Logf("%d bytes, of %d", info.Size(), budget)
	if info.Size() > budget {
		t.Errorf("%s has %d bytes, more than the %d that it may have", program, info.Size(), budget)
	}
}

// TestMinionBuildsForEverySystem compiles the minion for systems on which these tests do not run.
func TestMinionBuildsForEverySystem(t *testing.T) {
	need.Time(t, "it builds the minion for three systems")
	for _, target := range []string{"windows/amd64", "darwin/arm64", "freebsd/amd64"} {
		t.Run(target, func(t *testing.T) {
			system, machine, _ := strings.Cut(target, "/")
			cmd := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", os.DevNull,
				"./cmd/salt-minion")
			cmd.Dir = sources.Root(t)
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("go build: %v\n%s", err, out)
			}
		})
	}
}
