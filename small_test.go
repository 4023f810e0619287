package brine

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/sources"
	"github.com/brineproject/brine/internal/test/need"
)

// smallBudget is the maximum size of the minion of a small build on armv7, in bytes, and
// smallestBudget of one that leaves out, with the tags in smallest, what a device of one distribution
// does not need either. docs/small.md has what each tag costs.
const (
	smallBudget    = 16_100_000
	smallestBudget = 15_000_000
	smallest       = "small,noalpine,noarchive,noarchlinux,nogit,noini,noredhat"
)

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

// smallWith lists packages that a small build must contain: what a device needs daily, on each
// distribution.
var smallWith = strings.Fields(`modules/aptpkg modules/aptsources modules/apkpkg modules/archive
	modules/beacons modules/cmd modules/config modules/cp modules/cron modules/debianservice
	modules/dpkg modules/event modules/file modules/gentooservice modules/git modules/grains
	modules/group modules/hosts modules/linuxservice modules/locale modules/mine modules/mount
	modules/network modules/pacmanpkg modules/pillar modules/pkgresource modules/rhservice modules/rpm
	modules/saltutil modules/schedule modules/shadow modules/ssh modules/state modules/status
	modules/sys modules/sysctl modules/system modules/systemdservice modules/test modules/timezone
	modules/user modules/yumpkg
	states/archive states/beacon states/cmd states/cron states/event states/file states/git
	states/grains states/group states/host states/locale states/mount states/pkg states/pkgrepo
	states/saltutil states/schedule states/service states/ssh states/status states/sysctl states/test
	states/timezone states/user
	beacons/inotify beacons/log beacons/service engines/script engines/program jinja yaml
	render/saltjinja transport/zeromq transport/tcp program`)

func TestSmallMinionKeepsWhatDevicesNeed(t *testing.T) {
	deps := dependencies(t, "small", "./cmd/salt-minion")
	for _, name := range append(smallWith, "../github.com/go-zeromq/zmq4", "../github.com/sirupsen/logrus") {
		path, outside := strings.CutPrefix(name, "../")
		if !outside {
			path = module + name
		}
		if !slices.Contains(deps, path) {
			t.Errorf("the small minion lacks %s", path)
		}
	}
}

// smallTags returns the build tags that change a small build: those in the constraints of files, in
// the form for the command line (docker, nogit).
func smallTags(t *testing.T) []string {
	t.Helper()
	constraint := regexp.MustCompile(`(?m)^//go:build !small \|\| !?(\w+)$`)
	found := map[string]bool{}
	for _, pattern := range []string{"*/*.go", "*/*/*.go"} {
		files, err := filepath.Glob(filepath.Join(sources.Root(t), pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if m := constraint.FindSubmatch(text); m != nil {
				found[string(m[1])] = true
			}
		}
	}
	tags := slices.Sorted(maps.Keys(found))
	if len(tags) < 20 || !slices.Contains(tags, "docker") || !slices.Contains(tags, "nogit") {
		t.Fatalf("tags %v", tags)
	}
	return tags
}

// TestTagsOfSmallBuildsAreDocumented compares the table in docs/small.md with the files' constraints.
func TestTagsOfSmallBuildsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(sources.Root(t), "docs", "small.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, row[1])
	}
	slices.Sort(listed)
	if tags := smallTags(t); !slices.Equal(listed, tags) {
		t.Errorf("docs/small.md lists %v, the files have %v", listed, tags)
	}
}

// TestSmallMinionCompilesWithEachTag compiles the packages that have files of small builds, with each
// tag alone and with all of them.
func TestSmallMinionCompilesWithEachTag(t *testing.T) {
	need.Time(t, "it compiles packages for each tag")
	tags := smallTags(t)
	for _, tag := range append(tags, strings.Join(tags, ",")) {
		cmd := exec.Command("go", "build", "-tags", "small,"+tag, "./modules", "./states", "./modules/cmd",
			"./beacons/standard", "./returners/standard", "./engines/standard", "./render/standard",
			"./render/saltjinja", "./sdb/standard", "./serializers", "./transport/tcp", "./minion",
			"./cli/saltminion")
		cmd.Dir = sources.Root(t)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go build -tags small,%s: %v\n%s", tag, err, out)
		}
	}
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

// TestOnlyTheMasterReachesNATS checks that the other programs contain nothing of NATS.
func TestOnlyTheMasterReachesNATS(t *testing.T) {
	programs, err := filepath.Glob(filepath.Join(sources.Root(t), "cmd", "*"))
	if err != nil || len(programs) < 5 {
		t.Fatalf("programs: %q, %v", programs, err)
	}
	for _, program := range programs {
		if name := filepath.Base(program); name != "salt-master" {
			reachesNone(t, "", "./cmd/"+name, []string{"github.com/nats-io"})
		}
	}
}

// reachesNone fails if a program depends on one of the packages in without, or on packages below
// them, in a build with these tags.
func reachesNone(t *testing.T, tags, program string, without []string) {
	t.Helper()
	for _, dep := range dependencies(t, tags, program) {
		if hasPrefix(dep, without) {
			t.Errorf("%s reaches %s", program, dep)
		}
	}
}

// dependencies returns the import paths of all packages in a program, in a build with these tags.
func dependencies(t *testing.T, tags, program string) []string {
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
	return deps
}

func TestSmallMinionKeepsToItsSize(t *testing.T) {
	need.Time(t, "it builds the minion for another processor")
	for tags, budget := range map[string]int64{"small": smallBudget, smallest: smallestBudget} {
		keepsToSize(t, budget, tags, "./cmd/salt-minion", "GOARCH=arm", "GOARM=7", "GOFLAGS=-gcflags=all=-l")
	}
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
