//go:build unix

package cmd

import (
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/need"
	"github.com/brineproject/brine/loader"
)

// TestEndlessOutputEndsTheCommand runs commands that write more than a return can hold, and one
// that writes forever and has a child.
func TestEndlessOutputEndsTheCommand(t *testing.T) {
	need.Time(t, "commands write without end")
	within, half := strconv.Itoa(mostOutput()), strconv.Itoa(mostOutput()/2+1)
	for _, tt := range []struct {
		name, line string
		kwargs     []any
		fails      bool
	}{
		{"for ever", "yes", nil, true},
		{"for ever without a shell", "yes", []any{"python_shell", false}, true},
		{"for ever, for use_vt", "yes", []any{"use_vt", true}, true},
		{"as standard error", "yes >&2", nil, true},
		{"both streams together", "head -c " + half + " /dev/zero; head -c " + half +
			" /dev/zero >&2", nil, true},
		{"no more than fits", "head -c " + within + " /dev/zero", nil, false},
		{"more than fits once it is text", "head -c " + half + " /dev/zero | tr '\\0' '\\377'", nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := call(t, &loader.Env{}, "cmd.run_all", []any{tt.line}, tt.kwargs...)
			if !tt.fails {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "larger than "+within+" bytes") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestEndlessOutputEndsTheWholeGroup(t *testing.T) {
	dir := t.TempDir()
	pids := fifo(t, dir)
	done := make(chan error, 1)
	go func() {
		_, err := call(t, &loader.Env{},
			"cmd.run", []any{"sleep 1000 >/dev/null 2>&1 & echo $! > " + pids + "; yes"})
		done <- err
	}()
	pid := readPID(t, pids)
	if err := <-done; err == nil {
		t.Error("endless output is no error")
	}
	checkGone(t, pid)
}
