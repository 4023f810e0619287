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

// killPid sends a signal to a process, and reports whether there is one.
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

// signal signals a process. Numbers that stand for groups of processes are none.
func (m *module) signal(pid, number int64) error {
	if pid <= 0 {
		return gone(pid)
	}
	err := syscall.Kill(int(pid), syscall.Signal(number))
	if errors.Is(err, syscall.ESRCH) {
		return gone(pid)
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

// pkill sends a signal to the processes whose name holds a text, and returns their ids. It is None where there are none.
//
// user
//
//	Only those of this user.
//
// full
//
//	True looks at the whole command line.
//
// CLI Example:
//
//	salt 'www.*' ps.pkill httpd signal=1
//	salt '*' ps.pkill bash signal=9 user=tom
func (m *module) pkill(_ context.Context, a pkillArgs) (any, error) {
	if a.Pattern == "" {
		return nil, loader.Invocation("ps.pkill: the pattern is empty, which every process fits")
	}
	found, err := m.find(a.User, a.Full, func(line string) bool { return strings.Contains(line, a.Pattern) })
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

// pgrep returns the ids of the processes whose name holds a text. It is None where there are none.
//
// user, full
//
//	As in ps.pkill.
//
// pattern_is_regex
//
//	True takes the text for a regular expression.
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

// searching returns what looks for a regular expression anywhere in a text.
func searching(pattern string) (func(string) bool, error) {
	re, err := match.CompileRegexp(`[\s\S]*?(?:` + pattern + `)`)
	if err != nil {
		return nil, loader.Exception("re.error", "%w", err)
	}
	return re.Match, nil
}

// find returns the processes of a user, or of all, whose name or whole command line fits.
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

// status returns the ids and names of the processes in a state: running, sleeping, disk-sleep, stopped, tracing-stop, zombie, dead,
// wake-kill, waking, parked, idle.
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
