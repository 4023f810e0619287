//go:build linux

package ps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
)

type killArgs struct {
	Pid    int64
	Signal int64 `default:"15"`
}

// killPid sends a signal to a process, and reports whether the process exists.
//
// CLI Example:
//
//	salt 'minion' ps.kill_pid 2000 signal=9
func (m *module) killPid(_ context.Context, a killArgs) (any, error) {
	err := m.signal(a.Pid, a.Signal)
	if errors.Is(err, errGone) {
		return false, nil
	}
	return err == nil, err
}

// signal sends a signal to a process. It rejects the numbers that stand for process groups.
func (m *module) signal(pid, number int64) error {
	if pid <= 0 {
		return notFound(pid)
	}
	err := syscall.Kill(int(pid), syscall.Signal(number))
	if errors.Is(err, syscall.ESRCH) {
		return notFound(pid)
	}
	if err != nil {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	return nil
}

type pkillArgs struct {
	Pattern string
	User    any   `default:"None"`
	Signal  int64 `default:"15"`
	Full    bool  `default:"False"`
}

// pkill sends a signal to the processes whose name contains a text, and returns their process IDs.
// It returns None if there are none.
//
// user
//
//	Only processes of this user.
//
// full
//
//	True searches the whole command line.
//
// CLI Example:
//
//	salt 'www.*' ps.pkill httpd signal=1
//	salt '*' ps.pkill bash signal=9 user=tom
func (m *module) pkill(_ context.Context, a pkillArgs) (any, error) {
	if a.Pattern == "" {
		return nil, loader.Invocation("ps.pkill: the pattern is empty and would match every process")
	}
	found, err := m.find(a.User, a.Full,
		func(line string) bool { return strings.Contains(line, a.Pattern) })
	killed := []any{}
	for _, pid := range found {
		switch failure := m.signal(pid, a.Signal); {
		case failure == nil:
			killed = append(killed, pid)
		case !errors.Is(failure, errGone):
			return nil, failure
		}
	}
	if err != nil || len(killed) == 0 {
		return nil, err
	}
	return data.NewMap("killed", killed), nil
}

type pgrepArgs struct {
	Pattern        any
	User           any  `default:"None"`
	Full           bool `default:"False"`
	PatternIsRegex bool `default:"False"`
}

// pgrep returns the IDs of the processes whose name contains a text. It returns None if there are
// none.
//
// user, full
//
//	As in ps.pkill.
//
// pattern_is_regex
//
//	True treats the text as a regular expression.
//
// CLI Example:
//
//	salt '*' ps.pgrep httpd
//	salt '*' ps.pgrep bash user=tom
func (m *module) pgrep(_ context.Context, a pgrepArgs) (any, error) {
	pattern := data.Str(a.Pattern)
	fits := func(line string) bool { return strings.Contains(line, pattern) }
	if a.PatternIsRegex {
		var err error
		if fits, err = searching(pattern); err != nil {
			return nil, err
		}
	}
	found, err := m.find(a.User, a.Full, fits)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	list := make([]any, len(found))
	for i, pid := range found {
		list[i] = pid
	}
	return list, nil
}

// searching returns a function that searches a text for a regular expression.
func searching(pattern string) (func(string) bool, error) {
	re, err := match.CompileRegexp(`[\s\S]*?(?:` + pattern + `)`)
	if err != nil {
		return nil, loader.Exception("re.error", "%w", err)
	}
	return re.Match, nil
}

// find returns the IDs of the processes of a user, or of all users, whose name or whole command
// line fits accepts.
func (m *module) find(user any, full bool, fits func(line string) bool) (pids []int64, err error) {
	err = m.each(func(p *process) {
		line := p.fullName()
		if full {
			words := []string{}
			for _, w := range p.cmdline() {
				words = append(words, data.Str(w))
			}
			line = strings.Join(words, " ")
		}
		if fits(line) && (user == nil || data.Equal(p.username(), user)) {
			pids = append(pids, p.pid)
		}
	})
	return pids, err
}

type statusArgs struct{ Status any }

// status returns the IDs and names of the processes in a state: running, sleeping, disk-sleep,
// stopped, tracing-stop, zombie, dead, wake-kill, waking, parked, idle.
//
// CLI Example:
//
//	salt '*' ps.status STATUS
func (m *module) status(_ context.Context, a statusArgs) (any, error) {
	if !data.Truth(a.Status) {
		return nil, loader.Invocation("Filter is required for ps.status")
	}
	list := []any{}
	err := m.each(func(p *process) {
		if p.state() == a.Status {
			list = append(list, data.NewMap("pid", p.pid, "name", p.fullName()))
		}
	})
	return list, err
}
