// Package cli holds the command lines of all programs: their arguments, output and exit codes.
//
//	o, err := cli.ParseSalt(cli.System(nil))   // reads os.Args, the environment, the Saltfile
//	var exit *cli.Exit
//	if errors.As(err, &exit) {                 // --help, --version, a wrong option: print and end
//		os.Exit(exit.Print(os.Stdout, os.Stderr))
//	}
//	o.Merge(config)                            // configuration under the command line, as Salt merges them
//
// Salt's programs parse arguments with Python's optparse, and operators rely on what it allows:
// options after the target, -vt5, --time 5, --opt=value, and a lone -- to end options. optparse.go
// implements these rules. It checks the arguments in order, reports errors with optparse's texts,
// and rewrites each option as --name=value. A flag reader then turns these into the values of the
// options in the tables (table_*.go). The reader is github.com/urfave/cli, or a small one for the
// minion's programs. The tables hold the names, defaults and help texts of Salt 3006; options.go
// has a struct for each program.
//
// An option's value comes from the first of these that sets it: the command line, the Saltfile
// (--saltfile, SALT_SALTFILE, ./Saltfile, ~/.salt/Saltfile; see saltfile.go), the configuration,
// the default. The models are Python's optparse.py and salt/utils/parsers.py.
//
// Salt (salt.go and the files beside it) and Key are whole programs. Programs that need the
// master's or the minion's code are in packages below this one: saltmaster, saltminion, saltcall.
// All of them print results with Printer.
//
// Two things differ from Salt, where Salt contradicts its manual. First, options read with
// --args-stdin add to those of the command line; in Salt they reset all others to their defaults,
// which turns `salt -G --args-stdin` into a glob. Second, the command line takes precedence over
// the Saltfile; in Salt a Saltfile in the working directory overrides even -c.
package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/cli/flags"
	"github.com/brineproject/brine/internal/accounts"
)

// Exit codes of Salt (salt/defaults/exitcodes.py).
const (
	exitOK       = 0
	exitGeneric  = 1
	ExitUsage    = 64 // a wrong command line
	exitNoTarget = 42 // salt was called with an incomplete command line
)

// environ looks up an environment variable and returns "" if it is not set.
type environ func(string) string

// An Invocation is the input of a run of a program.
type Invocation struct {
	Args  []string // without the program's name
	Env   func(string) string
	Stdin io.Reader    // read for --args-stdin only
	Dir   string       // the working directory; "" if it was removed
	Flags flags.Reader // parses the flags; nil means flags.Read

	// Installed returns a section of the report of versions for what the configuration in a directory
	// names; nil for none.
	Installed func(configDir string) string
}

// System returns the Invocation of this process. read parses its flags; nil means flags.Read.
func System(read flags.Reader) Invocation {
	dir, _ := os.Getwd() // the directory may have been removed, which is no error
	return Invocation{Args: os.Args[1:], Env: os.Getenv, Stdin: os.Stdin, Dir: dir, Flags: read}
}

// An Exit is an error that ends the program at once with an exit code and texts, which may be
// empty.
type Exit struct {
	Code           int
	Stdout, Stderr string
}

func (e *Exit) Error() string { return fmt.Sprintf("exit %d: %s%s", e.Code, e.Stdout, e.Stderr) }

// Print writes the texts and returns the code.
func (e *Exit) Print(stdout, stderr io.Writer) int {
	_, _ = io.WriteString(stdout, e.Stdout) // errors are ignored: the reader may be gone
	_, _ = io.WriteString(stderr, e.Stderr)
	return e.Code
}

func (in Invocation) home() string {
	return accounts.Home(in.Env) // "" makes paths relative, and nothing is found there
}

// abs returns an absolute path and expands a leading ~ to the home directory.
func (in Invocation) abs(path string) string {
	path = in.expand(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(in.Dir, path)
}

func (in Invocation) expand(path string) string {
	if path == "~" || len(path) > 1 && path[0] == '~' && os.IsPathSeparator(path[1]) {
		return in.home() + path[1:]
	}
	return path
}
