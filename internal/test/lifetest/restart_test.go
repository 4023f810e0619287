//go:build linux

package lifetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// restart is the script of a job that restarts its minion. It writes a file after the minion has
// ended, which a script can do if its minion was stopped normally.
const restart = `#!/bin/sh
pid=$(cat %[1]s)
kill -%[2]s "$pid"
while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
%[6]s || exit
%[3]s/salt-minion -c %[4]s -d || exit
echo started > %[5]s
`

// testOwnRestart runs a job that restarts its own minion: a new minion runs afterwards, the script
// has finished, and the job has one return, which says that it was interrupted.
func testOwnRestart(t *testing.T, bin, sig, after string) {
	s := newSite(t, bin, "web1")
	s.startAll(t)
	s.accept(t)
	m := s.minions[0]
	l := newLoad(s, rand.New(rand.NewPCG(0, 0)))
	defer l.close()
	heard := &events{rets: map[answer]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go heard.listen(ctx, s.master.sockets)
	l.pingAll(t, heard)

	script, mark := filepath.Join(s.dir, "again.sh"), filepath.Join(s.dir, "mark")
	text := fmt.Sprintf(restart, m.cfg.PidFile, sig, bin, m.conf, mark, after)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	var jid string
	err := l.orderOf(t.Context(), "restart", func(o *order) {
		jid = o.jid
		o.request.Fun, o.request.Arg, o.right = "cmd.run", []any{script}, func(any) bool { return false }
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the script", func() bool { return exists(mark) })
	await(t, "the return of the job", func() bool { return heard.count(jid, "web1") > 0 })
	l.pingAll(t, heard)
	pid := pidOf(t, m)
	if pid == m.cmd.Process.Pid {
		t.Errorf("process %d was not replaced", pid)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the new minion", func() bool { return len(s.left()) == 1 })
	if err := s.master.stop(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	s.checkNothingLeft(t)
	j := newJudge(t, s, l, heard, nil)
	if j.verdict(t); j.interrupted != 1 {
		t.Errorf("%d returns say that the job was interrupted", j.interrupted)
	}
}

func pidOf(t *testing.T, m *minion) int {
	t.Helper()
	text, err := os.ReadFile(m.cfg.PidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
