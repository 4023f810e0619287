// Package gpg runs GnuPG's program gpg and parses its status output.
//
// GnuPG's file doc/DETAILS describes the status lines.
package gpg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/brineproject/brine/process"
)

// A Program is gpg with a keychain. Several goroutines may use it.
type Program struct {
	Path string // of the program
	Home string // directory of the keychain
	// Run runs a program; nil means process.Run.
	Run func(ctx context.Context, cmd *exec.Cmd) error
	// Become makes a program run as another user; nil means the running user.
	Become func(cmd *exec.Cmd)
}

// A Call is one run of a Program.
type Call struct {
	Args  []string  // after those that choose the keychain and request status lines
	Input io.Reader // standard input; may be nil
	// Passphrase is written before the input, so that no other user sees it. It has one line; nil
	// if none is needed.
	Passphrase *string
	File       *os.File // gpg's descriptor 3; may be nil
	Env        []string // in addition to the program's environment
}

// A Result is the output of gpg.
type Result struct {
	Output []byte
	Status []Status
	Stderr string // includes the status lines
	Code   int    // exit code
}

// A Status is one status line.
type Status struct{ Keyword, Value string }

// ErrPassphrase is returned for a passphrase of several lines.
var ErrPassphrase = errors.New("Invalid passphrase") //nolint:staticcheck // the words of python-gnupg

// Do runs gpg and returns its output, whatever its exit code. The error means that it could not be
// run, or was ended by ctx.
func (p Program) Do(ctx context.Context, c Call) (*Result, error) {
	args := []string{"--homedir", p.Home, "--status-fd", "2", "--no-tty"}
	input := c.Input
	if input == nil {
		input = bytes.NewReader(nil)
	}
	if c.Passphrase != nil {
		if strings.ContainsAny(*c.Passphrase, "\r\n\x00") {
			return nil, ErrPassphrase
		}
		args = append(args, "--pinentry-mode", "loopback", "--passphrase-fd", "0")
		input = io.MultiReader(strings.NewReader(*c.Passphrase+"\n"), input)
	}
	cmd := exec.Command(p.Path, append(args, c.Args...)...)
	var out, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &problems
	cmd.Env = os.Environ()
	if c.File != nil {
		cmd.ExtraFiles = []*os.File{c.File}
	}
	if p.Become != nil {
		p.Become(cmd)
	}
	cmd.Env = append(cmd.Env, c.Env...)
	run := p.Run
	if run == nil {
		run = process.Run
	}
	err := run(ctx, cmd)
	if cause := context.Cause(ctx); cause != nil {
		return nil, fmt.Errorf("%s: %w", p.Path, cause)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, fmt.Errorf("%s: %w", p.Path, err)
	}
	r := &Result{Output: out.Bytes(), Stderr: problems.String()}
	if exit != nil {
		r.Code = exit.ExitCode()
	}
	r.Status = statusOf(r.Stderr)
	return r, nil
}

// statusOf returns the status lines in gpg's output.
func statusOf(text string) (list []Status) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "[GNUPG:] "); ok {
			keyword, value, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
			list = append(list, Status{keyword, strings.TrimLeft(value, " ")})
		}
	}
	return list
}

// Value returns the value of the last status line with this keyword, and whether there is one.
func (r *Result) Value(keyword string) (string, bool) {
	for i := len(r.Status) - 1; i >= 0; i-- {
		if r.Status[i].Keyword == keyword {
			return r.Status[i].Value, true
		}
	}
	return "", false
}
