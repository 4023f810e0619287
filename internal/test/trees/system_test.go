//go:build linux

package trees

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A system is a booted tree.
type system struct {
	dir  string // what is written goes to its directory upper
	init string // the pid of its systemd
}

// patience is the timeout for booting a system.
const patience = 3 * time.Minute

// boot starts a system, which ends with the test.
func boot(t *testing.T, tr tree) *system {
	t.Helper()
	s := &system{dir: t.TempDir()}
	var out bytes.Buffer
	cmd := exec.Command("sh", "testdata/boot.sh", tr.dir, s.dir)
	cmd.Stdout, cmd.Stderr = &out, &out
	if _, err := cmd.StdinPipe(); err != nil { // which the system closes where this process is killed
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // unshare, which takes its systemd with it
		<-ended
	})
	for by := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s does not boot: %v\n%s", tr.suite, err, out.String())
		default:
		}
		if s.booted(cmd.Process.Pid) {
			return s
		}
		if time.Now().After(by) {
			t.Fatalf("%s has not booted within %v\n%s", tr.suite, patience, out.String())
		}
	}
}

// booted reports whether the systemd below unshare has started the basic services.
func (s *system) booted(unshare int) bool {
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", unshare, unshare))
	if s.init = strings.TrimSpace(string(children)); err != nil || s.init == "" {
		return false
	}
	name, _ := os.ReadFile("/proc/" + s.init + "/comm")
	if string(name) != "systemd\n" {
		return false
	}
	said, _ := s.command("systemctl", "is-system-running").Output() // anything but running is an error
	return string(said) == "running\n" || string(said) == "degraded\n"
}

// command returns a command in the system, without rights over the clock and the modules of the
// host.
func (s *system) command(args ...string) *exec.Cmd {
	cmd := exec.Command("nsenter",
		append([]string{"-t", s.init, "-m", "-u", "-i", "-p", "-C", "-r", "-w", "setpriv", "--bounding-set",
			"-sys_time,-sys_module,-sys_rawio,-sys_boot"}, args...)...)
	cmd.Env = []string{"HOME=/root", "LANG=C.UTF-8",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=dumb"}
	return cmd
}

// write puts a file into the system.
func (s *system) write(t *testing.T, name string, content []byte, mode fs.FileMode) {
	t.Helper()
	cmd := s.command("sh", "-c", `mkdir -p "${1%/*}" && cat > "$1" && chmod "$2" "$1"`, "sh", name,
		strconv.FormatUint(uint64(mode), 8))
	cmd.Stdin = bytes.NewReader(content)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write %s: %v\n%s", name, err, out)
	}
}

// ownDuties are the directories that a system writes to by itself, and the minion in any mode. They
// include the caches of apt: to know the newest versions, pkg.latest updates them in test mode too,
// as in Salt.
var ownDuties = []string{"var/log", "var/cache/salt", "var/lib/systemd", "var/tmp", "root/.old",
	"run", "etc/salt/pki", "var/run", "etc/machine-id",
	"var/lib/private", "etc/.pwd.lock", "var/cache/apt/pkgcache.bin",
	"var/cache/apt/srcpkgcache.bin", "var/lib/apt/lists"}

// written returns the files that differ from those of the tree: size, mode and time of each.
func (s *system) written(t *testing.T) map[string]string {
	t.Helper()
	upper, all := filepath.Join(s.dir, "upper"), map[string]string{}
	err := filepath.WalkDir(upper, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(upper, name)
		for _, own := range ownDuties {
			if rel == own {
				if e.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		info, err := e.Info()
		if err == nil && !e.IsDir() { // the times of directories change with temporary files
			all[rel] = fmt.Sprintf("%v, %d bytes, of %v", info.Mode(), info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
