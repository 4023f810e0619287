package saltrun

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/brineproject/brine/process"
	"github.com/brineproject/brine/runners"
)

// inBackground starts the program again in the background; the new process calls the runner and
// outlives this one.
func (r *run) inBackground(call runners.Call) int {
	self, err := os.Executable()
	if err != nil {
		return r.fail(fmt.Errorf("salt-run: --async: %w", err))
	}
	cmd := exec.Command(self, r.backgroundCommand(call)...)
	cmd.Dir = r.in.Dir
	if err := process.Start(cmd); err != nil {
		return r.fail(fmt.Errorf("salt-run: --async: %w", err))
	}
	r.log.Warnf("Running in asynchronous mode. Results of this execution may be collected by attaching to the master event bus or by "+
		"examining the master job cache, if configured. This execution is running under tag %s",
		runners.Runner.Tag(call.JID))
	return exitOK
}

// backgroundCommand returns the command line of the background process.
func (r *run) backgroundCommand(call runners.Call) []string {
	args := []string{"--config-dir=" + r.o.ConfigDir, "--jid=" + string(call.JID), "--quiet"}
	for _, option := range []struct{ name, value string }{{"saltfile", r.o.Saltfile},
		{"log-level", r.o.LogLevel}, {"log-file", r.o.LogFile},
		{"log-file-level", r.o.LogFileLevel}} {
		if option.value != "" {
			args = append(args, "--"+option.name+"="+option.value)
		}
	}
	if r.o.Given("timeout") {
		args = append(args, fmt.Sprintf("--timeout=%d", r.o.Timeout))
	}
	for _, name := range r.o.NoParse {
		args = append(args, "--no-parse="+name)
	}
	return append(append(args, "--", call.Fun), r.o.Call.Args...)
}
