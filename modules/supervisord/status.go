package supervisord

import (
	"context"
	"regexp"
	"strings"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/calls"
)

type statusArgs struct {
	Name any `default:"None"`
	place
}

// statusRaw returns the program's output about one process, or about all. The other arguments are
// those of supervisord.start.
//
// CLI Example:
//
//	salt '*' supervisord.status_raw
func (m *module) statusRaw(ctx context.Context, a statusArgs) (any, error) {
	return m.text(ctx, a.place, "status", calls.Text(a.Name))
}

// notAllRun is the return code of supervisorctl status if a process does not run.
const notAllRun = 3

// status returns the processes, or one of them, each with its state and the reason of it. The other
// arguments are those of supervisord.start.
//
// CLI Example:
//
//	salt '*' supervisord.status
func (m *module) status(ctx context.Context, a statusArgs) (any, error) {
	ran, err := m.run(ctx, a.place, "status", calls.Text(a.Name))
	if err != nil {
		return nil, err
	}
	if ran.Retcode != 0 && ran.Retcode != notAllRun && !strings.Contains(ran.Stdout, "ERROR") {
		ran.Stdout = "ERROR: " + ran.Stdout
	}
	all := &data.Map{}
	for line := range strings.SplitSeq(strings.TrimSuffix(ran.Stdout, "\n"), "\n") {
		if line == "" && ran.Stdout == "" {
			break
		}
		name, state, reason, err := columns(line)
		if err != nil {
			return nil, err
		}
		all.Set(name, data.NewMap("state", state, "reason", reason))
	}
	return all, nil
}

var blanks = regexp.MustCompile(`\s+`)

// columns splits a line of the status.
func columns(line string) (name, state, reason string, err error) {
	switch parts := blanks.Split(strings.TrimLeft(line, " \t"), 3); len(strings.Fields(line)) {
	case 0, 1:
		return "", "", "", loader.Exception("ValueError", "not enough values to unpack (expected 3, got %d)",
			len(strings.Fields(line))+1)
	case 2:
		return parts[0], parts[1], "", nil
	default:
		return parts[0], parts[1], parts[2], nil
	}
}

type boolArgs struct {
	Name          string
	ExpectedState any `default:"None"`
	place
}

// statusBool returns whether a process exists and, if expected_state is given, whether that is its
// state. The other arguments are those of supervisord.start.
//
// CLI Example:
//
//	salt '*' supervisord.status_bool nginx expected_state='RUNNING'
func (m *module) statusBool(ctx context.Context, a boolArgs) (any, error) {
	text, err := m.text(ctx, a.place, "status "+a.Name, "")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	name, state, reason, err := columns(lines[len(lines)-1])
	switch {
	case err != nil:
		return nil, err
	case reason == "(no such process)" || name != a.Name:
		return false, nil
	}
	return a.ExpectedState == nil || data.Equal(a.ExpectedState, state), nil
}
