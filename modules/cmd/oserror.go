package cmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// exitCode returns the return code like Python: negative for a signal. The error means that the
// program did not run.
func exitCode(err error) (any, error) {
	if err == nil {
		return int64(0), nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return statusCode(exit), nil
	}
	return nil, err
}

// notStarted returns the error of a program that could not be started, in the words of Salt and of
// Python's OSError. It omits environment and input, and at level quiet the command.
func (j *job) notStarted(err error) error {
	number, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		// not wrapped: it may contain the command
		return loader.Execution("run command: %s", j.secret(err.Error()))
	}
	if j.who != nil && number == syscall.EPERM {
		return loader.Exception("subprocess.SubprocessError", "Exception occurred in preexec_fn.")
	}
	reason := fmt.Sprintf("[Errno %d] %s", int(number), sentence(number.Error()))
	if j.level != quiet {
		reason += ": " + data.Repr(j.culprit(err))
	}
	return loader.Execution("Unable to run command '%s' with the context '%s', reason: %s",
		j.secret(data.Str(j.cmd)), data.Repr(j.context()), reason)
}

// culprit returns the path that an error refers to.
func (j *job) culprit(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok && p.Op == "chdir" {
		return j.cwd
	}
	if j.useShell {
		return j.shell
	}
	if words, ok := wordsOf(j.cmd); ok && len(words) > 0 {
		return data.Str(words[0])
	}
	return strings.TrimSpace(data.Str(j.cmd))
}

// context returns the arguments that the original would pass to Python's Popen, without secrets.
func (j *job) context() *data.Map {
	const pipe, toStdout = int64(-1), int64(-2)
	var stdin, stdout, stderr any = nil, pipe, pipe
	if j.stdin != nil {
		stdin = "REDACTED"
	}
	if j.merge {
		stderr = toStdout
	}
	if j.bg {
		stdin, stdout, stderr = nil, nil, nil
	}
	c := data.NewMap("cwd", j.cwd, "shell", j.useShell, "env", "REDACTED", "stdin", stdin,
		"stdout", stdout, "stderr", stderr,
		"with_communicate", !j.bg, "timeout", j.timeout, "bg", j.bg)
	if j.useShell {
		c.Set("executable", j.shell)
	}
	c.Set("close_fds", true)
	return c
}

// sentence capitalizes an error text of the system, as C prints it.
func sentence(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[n:]
}
