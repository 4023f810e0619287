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

// MarkOf returns the mark of a process that runs. Only Linux has them; elsewhere the error wraps errors.ErrUnsupported.
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

// EndLeft ends programs that an earlier process of ours started by Run and did not live to end: each is told to end, with
// what it started, and killed when it does not within two seconds. It returns those that it left alone: one by which this
// process was started, and those of whose session one process has a command line of which spare says so.
//
// Nobody else is ever signalled: a program whose number is another's by now, or that has ended itself and left others
// running, as the starter of a daemon does, is passed over.
func EndLeft(marks []Mark, spare func(cmdline string) bool) (spared []Mark) {
	boot, err := bootID()
	if err != nil {
		return nil
	}
	all := table()
	var ends []Mark
	for _, m := range marks {
		switch {
		case m.boot != boot || !m.lives(all):
		case all.holds(m.PID, os.Getpid()) || all.anyOf(m.PID, spare):
			spared = append(spared, m)
		default:
			ends = append(ends, m)
		}
	}
	endGroups(ends)
	return spared
}

// endGroups tells the groups to end, and kills those that do not.
func endGroups(groups []Mark) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, m := range groups {
			_ = syscall.Kill(-m.PID, sig) // it may have ended just now
		}
		for by := time.Now().Add(leftTime); len(groups) > 0 && time.Now().Before(by); time.Sleep(leftPause) {
			all := table()
			groups = slices.DeleteFunc(groups, func(m Mark) bool { return all.ended(m.PID) || all.isAnothers(m) })
		}
	}
}

const (
	leftTime  = 2 * time.Second
	leftPause = 5 * time.Millisecond
)

// stat is what the system tells of a process.
type stat struct {
	state                  byte
	parent, group, session int
	flags                  int // of the kernel
	start                  uint64
}

// processes are those that the system lists, by number.
type processes map[int]stat

func table() processes {
	all := processes{}
	files, _ := filepath.Glob("/proc/[1-9]*/stat") // the pattern is good
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

// Fields of a process's stat behind its name, which is in parentheses and may hold any character.
const (
	statState = iota
	statParent
	statGroup
	statSession
	statFlags = 6
	statStart = 19
)

// forkNoExec is the flag of a process that was forked and runs the program of its parent still.
const forkNoExec = 0x40

func parseStat(text []byte) (s stat, err error) {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= statStart {
		return s, fmt.Errorf("stat of a process has %d fields", len(fields))
	}
	s.state = fields[statState][0]
	for field, to := range map[int]*int{statParent: &s.parent, statGroup: &s.group, statSession: &s.session, statFlags: &s.flags} {
		if *to, err = strconv.Atoi(fields[field]); err != nil {
			return s, err
		}
	}
	s.start, err = strconv.ParseUint(fields[statStart], 10, 64)
	return s, err
}

// lives reports whether the process of the mark is there, be it ended but for its parent's notice, and heads its group.
func (m Mark) lives(all processes) bool {
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

// isAnothers reports whether the number of a mark is another process's by now.
func (all processes) isAnothers(m Mark) bool {
	s, ok := all[m.PID]
	return ok && s.start != m.start
}

// holds reports whether pid, or a process by which it was started, belongs to a session.
func (all processes) holds(session, pid int) bool {
	for range all { // no line of parents is longer
		s, ok := all[pid]
		if !ok || s.session == session {
			return ok
		}
		pid = s.parent
	}
	return false
}

// anyOf reports whether is says so of the command line of a process of a session, or of one that descends from it.
func (all processes) anyOf(session int, is func(cmdline string) bool) bool {
	for pid := range all {
		if !all.holds(session, pid) {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && is(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))) {
			return true
		}
	}
	return false
}
