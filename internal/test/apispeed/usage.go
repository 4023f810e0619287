package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ticks is how many units of the times in /proc/PID/stat are a second.
const ticks = 100

// A stat is what /proc/PID/stat says of a process.
type stat struct {
	pid, parent int
	cpu         time.Duration // of the process and the children that it has waited for
}

// tree returns a process and those that descend from it.
func tree(pid int) ([]stat, error) {
	root, err := statOf(pid)
	if err != nil {
		return nil, err
	}
	children := map[int][]stat{}
	files, _ := filepath.Glob("/proc/[1-9]*/stat") // the pattern is valid
	for _, file := range files {
		other, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if s, err := statOf(other); err == nil { // else it has ended
			children[s.parent] = append(children[s.parent], s)
		}
	}
	all := []stat{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i].pid]...)
	}
	return all, nil
}

func statOf(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(pid, text)
}

// parseStat reads a line of /proc/PID/stat. The name of the program, in brackets, may hold anything.
func parseStat(pid int, text []byte) (stat, error) {
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from the third on
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("read the times of process %d: %q is too short", pid, text)
	}
	var n [5]int64
	for i, at := range []int{1, 11, 12, 13, 14} {
		var err error
		if n[i], err = strconv.ParseInt(fields[at], 10, 64); err != nil {
			return stat{}, fmt.Errorf("read the times of process %d: %w", pid, err)
		}
	}
	return stat{pid: pid, parent: int(n[0]), cpu: time.Duration(n[1]+n[2]+n[3]+n[4]) * time.Second / ticks}, nil
}

// cpu returns the time that a process and its descendants have used, with those that have ended.
func cpu(pid int) (time.Duration, error) {
	all, err := tree(pid)
	var sum time.Duration
	for _, s := range all {
		sum += s.cpu
	}
	return sum, err
}

// memory returns the memory of a process and its descendants in KiB: a page that several share counts
// in parts (PSS).
func memory(pid int) (int64, error) {
	all, err := tree(pid)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, s := range all {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", s.pid))
		if err != nil {
			return 0, err
		}
		n, err := kibibytes(text, "Pss:")
		if err != nil {
			return 0, fmt.Errorf("read the memory of process %d: %w", s.pid, err)
		}
		sum += n
	}
	return sum, nil
}

// peak returns the most memory that a process itself has had in KiB.
func peak(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return kibibytes(text, "VmHWM:")
}

// kibibytes returns the value of a line such as "Pss:  1234 kB".
func kibibytes(text []byte, name string) (int64, error) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 1 && fields[0] == name {
			return strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("there is no line %s", name)
}
