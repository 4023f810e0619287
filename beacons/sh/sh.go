// Package sh is Salt's beacon sh: it reports the programs that the shells of a host start
// (salt/beacons/sh.py). It needs the program strace, and rights to trace processes.
package sh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/brineproject/brine/beacons"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/process"
)

// Plugin returns the beacon sh.
func Plugin() loader.Plugin {
	return beacons.Plugin("sh", "", func(env *loader.Env) (beacons.Beacon, error) {
		if process.Find("strace") == "" {
			return nil, errors.New("strace is missing.") //nolint:staticcheck // Salt's text
		}
		return beacon{env}, beacons.Need(env, "cmd.shells", "status.procs")
	})
}

type beacon struct{ env *loader.Env }

func (beacon) Validate(config any) (bool, string) {
	return beacons.Verdict(beacons.NotList("sh", config))
}

// traces are the traced shells by process id.
type traces struct{ shells map[string]*trace }

// Close ends all traces.
func (t *traces) Close() error {
	for _, one := range t.shells {
		one.stop()
	}
	return nil
}

func (b beacon) Beacon(ctx context.Context, _ any) ([]*data.Map, error) {
	kept, _, err := beacons.State[traces](ctx)
	if err != nil {
		return nil, err
	}
	if kept.shells == nil {
		kept.shells = map[string]*trace{}
	}
	users, err := b.shells(ctx)
	if err != nil {
		return nil, err
	}
	for pid, user := range users {
		if kept.shells[pid] != nil {
			continue
		}
		if kept.shells[pid], err = start(ctx, pid, user); err != nil {
			delete(kept.shells, pid)
			return nil, err
		}
	}
	var events []*data.Map
	for _, pid := range slices.Sorted(maps.Keys(kept.shells)) {
		one := kept.shells[pid]
		lines, ended := one.next()
		for _, line := range lines {
			if event := parse(line); event != nil {
				event.Set("tag", pid)
				event.Set("user", one.user)
				events = append(events, event)
			}
		}
		if ended {
			one.stop()
			delete(kept.shells, pid)
		}
	}
	return events, nil
}

// shells returns the users of the processes that are login shells of this host, by process id.
func (b beacon) shells(ctx context.Context) (map[string]any, error) {
	shells, err := loader.CallAs[[]string](ctx, b.env, "cmd.shells", nil, nil)
	if err != nil {
		return nil, err
	}
	procs, err := loader.CallAs[*data.Map](ctx, b.env, "status.procs", nil, nil)
	if err != nil {
		return nil, err
	}
	users := map[string]any{}
	for pid, v := range procs.All() {
		proc, _ := v.(*data.Map)
		cmd := strings.TrimLeft(proc.Text("cmd"), "-")
		if _, err := strconv.ParseUint(data.Str(pid), 10, 32); err != nil || cmd == "" {
			continue
		}
		if slices.ContainsFunc(shells, func(shell string) bool { return strings.Contains(shell, cmd) }) {
			users[data.Str(pid)] = proc.Value("user")
		}
	}
	return users, nil
}

// mostLines is how many lines a trace keeps between two turns; more are lost.
const mostLines = 10_000

// A trace is a running strace.
type trace struct {
	user   any
	cancel context.CancelFunc
	done   chan struct{} // closed when strace has ended

	mu    sync.Mutex
	lines []string // since the last turn
}

// start traces a process until ctx ends.
func start(ctx context.Context, pid string, user any) (*trace, error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, "strace", "-f", "-e", "execve", "-p", pid)
	out, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("trace process %s: %w", pid, err)
	}
	t := &trace{user: user, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(t.done)
		t.read(out)
		_ = cmd.Wait() // its exit code says nothing about the shell
	}()
	return t, nil
}

// read keeps the lines of strace.
func (t *trace) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		t.mu.Lock()
		if len(t.lines) < mostLines {
			t.lines = append(t.lines, lines.Text())
		}
		t.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, out) // after a line that is too long
}

// next returns the lines since the last call, and whether strace had ended before.
func (t *trace) next() (lines []string, ended bool) {
	select {
	case <-t.done:
		ended = true
	default:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	lines, t.lines = t.lines, nil
	return lines, ended
}

// stop ends strace and waits for its end.
func (t *trace) stop() {
	t.cancel()
	<-t.done
}

// parse returns the program and the arguments of a line about execve, nil for other lines.
func parse(line string) *data.Map {
	_, call, ok := strings.Cut(line, "execve")
	if !ok {
		return nil
	}
	event, args := data.NewMap(), []any{}
	for i, part := range strings.Split(call, `"`) {
		switch {
		case i == 1:
			event.Set("cmd", part)
		case i%2 == 1:
			args = append(args, part)
		}
	}
	event.Set("args", args)
	return event
}
