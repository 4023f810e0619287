//go:build linux

package lifetest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A leftover is a process that a site has started and that is still running.
type leftover struct {
	pid  int
	line string
}

func (l leftover) String() string { return fmt.Sprintf("%d %s", l.pid, l.line) }

func (l leftover) kill() error { return syscall.Kill(l.pid, syscall.SIGKILL) }

// left returns the processes of the site: daemons, the processes of their jobs, and their children.
// A marker in their environment identifies them.
func (s *site) left() (list []leftover) {
	want := []byte(marker + "=" + s.dir)
	found, _ := filepath.Glob("/proc/[1-9]*/environ") // the pattern is good
	for _, file := range found {
		environ, err := os.ReadFile(file)
		pid, numErr := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || numErr != nil || pid == os.Getpid() {
			continue
		}
		for pair := range bytes.SplitSeq(environ, []byte{0}) {
			if bytes.Equal(pair, want) {
				line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline")) // for people
				list = append(list, leftover{pid, strings.ReplaceAll(string(line), "\x00", " ")})
				break
			}
		}
	}
	return list
}

// stopMasterFirst stops the master, ends the programs that jobs run, and stops the minions. A
// restarted master has resent jobs that its minions had not acknowledged, so earlier jobs may be
// running now, some of them endless.
func (s *site) stopMasterFirst(t *testing.T) {
	t.Helper()
	if err := s.master.stop(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	daemons := map[int]bool{}
	for _, m := range s.minions {
		daemons[m.cmd.Process.Pid] = true
	}
	for _, m := range s.minions {
		await(t, "the last jobs of "+m.id, func() bool {
			for _, l := range s.left() {
				if !daemons[l.pid] {
					_ = l.kill() // it may have ended
				}
			}
			return len(m.running()) == 0
		})
		if err := m.stop(os.Interrupt); err != nil {
			t.Error(err)
		}
	}
}

// checkNothingLeft fails if a process of the site is still running, or if a file of a stopped one
// would make others believe that it is running.
func (s *site) checkNothingLeft(t *testing.T) {
	t.Helper()
	await(t, "the end of "+fmt.Sprint(s.left()), func() bool { return len(s.left()) == 0 })
	for _, m := range s.minions {
		for _, folder := range []string{"proc", "programs"} {
			if names := entries(filepath.Join(m.cfg.CacheDir, folder)); len(names) > 0 {
				t.Errorf("%s has left %s in %s", m.id, names, folder)
			}
		}
	}
	for name, file := range map[string]string{"master": s.masterCfg.PidFile,
		"minion": s.minions[0].cfg.PidFile} {
		if file != "" && exists(file) {
			t.Errorf("the %s has left its pid file %s", name, file)
		}
	}
}

// entries returns the names in a directory; none if it does not exist.
func entries(dir string) (names []string) {
	found, _ := os.ReadDir(dir) // see above
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}
