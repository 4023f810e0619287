package process

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// startTime is the maximum time between the moment of an intent and the start of its program. In
// between there is only the writing of a file and a fork; the rest allows for a host that is short
// of memory, or slow to write.
const startTime = 10 * time.Second

// FindLeft returns the marks of programs that an earlier process of ours was about to start when it
// was killed. That process must have ended. There is at most one mark per intent, and none that is
// already in marked.
//
// A match is the leader of a session that started no earlier than the moment of the intent and at
// most ten seconds after it. It has called exec itself, runs as the intended user, and has lost its
// parent. In addition, one of two properties must match. Either its input or an output is a pipe
// that was made for it, which it keeps when a shell replaces itself by a command. Or it has exactly
// the intended arguments and environment. Of several matches, the program is the one that was
// started first, since the others descend from it. If that one has ended, a descendant in a session
// of its own that has one of the pipes is taken instead: its job would have waited for it.
//
// FindLeft waits up to two seconds for a process that is between fork and exec.
func FindLeft(intents []Intent, marked []Mark) (found []Mark) {
	boot, err := bootID()
	intents = slices.DeleteFunc(slices.Clone(intents),
		func(i Intent) bool { return i.boot != boot })
	if err != nil || len(intents) == 0 {
		return nil
	}
	s := search{intents: intents, adopter: sync.OnceValue(adopter)}
	for by := time.Now().Add(leftTime); ; time.Sleep(leftPause) {
		s.all = table()
		if !s.unready() || time.Now().After(by) {
			break
		}
	}
	for _, i := range intents {
		if pid := s.program(i, marked, found); pid != 0 {
			found = append(found, Mark{PID: pid, start: s.all[pid].start, boot: boot})
		}
	}
	return found
}

// A search looks for programs in a table of processes.
type search struct {
	intents []Intent
	all     processes
	adopter func() int
}

// unready reports whether a process may still become a program of one of the intents.
func (s search) unready() bool {
	for pid, p := range s.all {
		if pid == os.Getpid() || !slices.ContainsFunc(s.intents,
			func(i Intent) bool { return i.began(p) }) {
			continue
		}
		forked := p.flags&forkNoExec != 0 && s.orphan(p)
		if forked || s.dying(p.parent) {
			return true
		}
	}
	return false
}

// program returns the process of an intent, or 0.
func (s search) program(i Intent, taken ...[]Mark) int {
	var byPipe, byArgs []int
	for pid, p := range s.all {
		isIt := func(m Mark) bool { return m.PID == pid && m.start == p.start }
		if slices.ContainsFunc(slices.Concat(taken...), isIt) || !s.candidate(i, pid, p) {
			continue
		}
		if i.hasPipe(pid) {
			byPipe = append(byPipe, pid)
		} else if i.hasArgs(pid) {
			byArgs = append(byArgs, pid)
		}
	}
	for _, pids := range [][]int{byPipe, byArgs} {
		if len(pids) > 0 {
			return slices.MinFunc(pids, s.byStart)
		}
	}
	return 0
}

func (s search) byStart(a, b int) int {
	return cmp.Or(cmp.Compare(s.all[a].start, s.all[b].start), cmp.Compare(a, b))
}

// candidate reports whether a process meets the conditions for any left program.
func (s search) candidate(i Intent, pid int, p stat) bool {
	uid, err := effectiveUser(pid)
	return err == nil && uid == i.uid && i.began(p) && p.group == pid && p.session == pid &&
		p.flags&forkNoExec == 0 && p.state != 'Z' && p.state != 'X' && s.orphan(p)
}

// began reports whether a process started at the time of the intent.
func (i Intent) began(p stat) bool {
	return p.start >= i.moment && p.start-i.moment <= uint64(startTime/time.Second)*ticks
}

// orphan reports whether a process has been adopted by init, or by the process that adopts in its
// place.
func (s search) orphan(p stat) bool { return p.parent == 1 || p.parent == s.adopter() }

// dying reports whether a process no longer has a program and is about to lose its children. Kernel
// threads do not count.
func (s search) dying(pid int) bool {
	p, ok := s.all[pid]
	if pid <= 2 {
		return false
	}
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return !ok || p.state == 'Z' || p.state == 'X' || errors.Is(err, fs.ErrNotExist)
}

// adopter returns the process that adopts our orphans, such as a user's service manager; 0 if it
// cannot be determined.
func adopter() int {
	r, w, err := os.Pipe()
	if err != nil {
		return 0
	}
	defer w.Close() // ends the orphan
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", "exec 3<&0; cat <&3 >/dev/null 2>&1 & echo $!")
	cmd.Stdin, cmd.WaitDelay = r, waitTime
	out, err := cmd.Output()
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		return 0
	}
	s, err := readStat(pid)
	if err != nil || s.parent == os.Getpid() {
		return 0
	}
	return s.parent
}

// hasPipe reports whether the input or an output of a process is a pipe of the program.
func (i Intent) hasPipe(pid int) bool {
	for fd := range 3 {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		number, ok := strings.CutPrefix(to, "pipe:[")
		if err == nil && ok && slices.Contains(strings.Split(i.pipes, "+"),
			strings.TrimSuffix(number, "]")) {
			return true
		}
	}
	return false
}

// maxInterpreters limits the words that the system puts before the name of a script: four
// interpreters with an argument each.
const maxInterpreters = 8

// hasArgs reports whether a process has the arguments and the environment of the program.
func (i Intent) hasArgs(pid int) bool {
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	if digest(args, env) == i.argv {
		return true
	}
	for range maxInterpreters {
		if _, args, _ = bytes.Cut(args, []byte{0}); len(args) > 0 && digest(args, env) == i.script {
			return true
		}
	}
	return false
}

// effectiveUser returns the effective user id of a process.
func effectiveUser(pid int) (uint32, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, line, _ := strings.Cut(string(text), "\nUid:\t")
	_, line, _ = strings.Cut(line, "\t")
	field, _, _ := strings.Cut(line, "\t")
	uid, err := strconv.ParseUint(field, 10, 32)
	return uint32(uid), err
}
