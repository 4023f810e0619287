package process

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MarkOf returns the mark of a running process. Only Linux has marks; elsewhere the error wraps
// errors.ErrUnsupported.
func MarkOf(pid int) (Mark, error) {
	s, err := readStat(pid)
	if err != nil {
		return Mark{}, fmt.Errorf("mark process %d: %w", pid, err)
	}
	boot, err := bootID()
	if err != nil {
		return Mark{}, fmt.Errorf("mark process %d: %w", pid, err)
	}
	return Mark{PID: pid, start: s.start, boot: boot}, nil
}

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text)), err
}

// EndLeft ends programs that an earlier process of ours started by Run and did not end before it
// died. It asks each program and its descendants to end, and kills them after two seconds. It
// returns those that it left alone: programs that are ancestors of this process, and those with a
// process in their session for whose command line spare returns true.
//
// No other process is ever signalled. EndLeft ignores a program whose process id now belongs to
// another process, and one that has ended and left others running, like the starter of a daemon.
func EndLeft(marks []Mark, spare func(cmdline string) bool) (spared []Mark) {
	boot, err := bootID()
	if err != nil {
		return nil
	}
	all := table()
	var ends []Mark
	for _, m := range marks {
		switch {
		case m.boot != boot || !m.isAlive(all):
		case all.inSession(m.PID, os.Getpid()) || all.anyProcess(m.PID, spare):
			spared = append(spared, m)
		default:
			ends = append(ends, m)
		}
	}
	endGroups(ends)
	return spared
}

// endGroups asks the groups to end, and kills those that do not.
func endGroups(groups []Mark) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, m := range groups {
			_ = syscall.Kill(-m.PID, sig) // it may have ended just now
		}
		for by := time.Now().Add(leftTime); len(groups) > 0 &&
			time.Now().Before(by); time.Sleep(leftPause) {
			all := table()
			groups = slices.DeleteFunc(groups,
				func(m Mark) bool { return all.ended(m.PID) || all.isReused(m) })
		}
	}
}

const (
	leftTime  = 2 * time.Second
	leftPause = 5 * time.Millisecond
)

// stat is the system's data about a process.
type stat struct {
	state                  byte
	parent, group, session int
	flags                  int // of the kernel
	start                  uint64
}

// processes are the processes that the system lists, by process id.
type processes map[int]stat

func table() processes {
	all := processes{}
	files, _ := filepath.Glob("/proc/[1-9]*/stat") // the pattern is valid
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil {
			all[pid] = s
		}
	}
	return all
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(text)
}

// Fields of a process's stat after its name, which is in parentheses and may contain any character.
const (
	statState = iota
	statParent
	statGroup
	statSession
	statFlags = 6
	statStart = 19
)

// forkNoExec is the flag of a process that was forked and has not called exec yet.
const forkNoExec = 0x40

func parseStat(text []byte) (s stat, err error) {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= statStart {
		return s, fmt.Errorf("stat of a process has %d fields", len(fields))
	}
	s.state = fields[statState][0]
	for field, to := range map[int]*int{statParent: &s.parent, statGroup: &s.group,
		statSession: &s.session, statFlags: &s.flags} {
		if *to, err = strconv.Atoi(fields[field]); err != nil {
			return s, err
		}
	}
	s.start, err = strconv.ParseUint(fields[statStart], 10, 64)
	return s, err
}

// isAlive reports whether the process of the mark exists, possibly as a zombie, and leads its
// group.
func (m Mark) isAlive(all processes) bool {
	s, ok := all[m.PID]
	return ok && s.start == m.start && s.group == m.PID && s.session == m.PID
}

// ended reports whether no process of a group runs.
func (all processes) ended(group int) bool {
	for _, s := range all {
		if s.group == group && s.state != 'Z' && s.state != 'X' {
			return false
		}
	}
	return true
}

// isReused reports whether the process id of a mark now belongs to another process.
func (all processes) isReused(m Mark) bool {
	s, ok := all[m.PID]
	return ok && s.start != m.start
}

// inSession reports whether pid, or one of its ancestors, belongs to a session.
func (all processes) inSession(session, pid int) bool {
	for range all { // no chain of parents is longer
		s, ok := all[pid]
		if !ok || s.session == session {
			return ok
		}
		pid = s.parent
	}
	return false
}

// anyProcess reports whether is returns true for the command line of a process of a session, or of
// one of its descendants.
func (all processes) anyProcess(session int, is func(cmdline string) bool) bool {
	for pid := range all {
		if !all.inSession(session, pid) {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && is(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))) {
			return true
		}
	}
	return false
}
