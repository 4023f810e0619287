// Package cli holds the command lines of all programs: what they take, what they print and how they exit.
//
//	o, err := cli.ParseSalt(cli.System(nil))   // reads os.Args, the environment, the Saltfile
//	var exit *cli.Exit
//	if errors.As(err, &exit) {                 // --help, --version, a wrong option: print and end
//		os.Exit(exit.Print(os.Stdout, os.Stderr))
//	}
//	o.Merge(config)                            // configuration under the command line, as Salt merges them
//
// Salt's programs read their arguments with Python's optparse, and operators rely on what that allows: options after
// the target, -vt5, --time 5, --opt=value, a lone -- to end options. The rules are in optparse.go: it checks the
// arguments, in order and with optparse's texts, and writes them down anew in the one form --name=value, which a reader of
// package flags then turns into the values of the options that the tables (table_*.go) describe: github.com/urfave/cli's,
// or the small one for the programs of a minion. The tables hold the names, defaults and help texts of Salt 3006; options.go
// has a struct for each program.
//
// The value of an option comes from, in this order: the command line, the Saltfile (--saltfile, SALT_SALTFILE,
// ./Saltfile, ~/.salt/Saltfile; see saltfile.go), the configuration, the default. The sources are optparse.py of
// Python and salt/utils/parsers.py.
//
// Salt (salt.go and the files beside it) and Key are whole programs; those that need what a master or a minion can do are
// in packages below this one: saltmaster, saltminion, saltcall. Printer prints results as all of them do.
//
// Two things differ from Salt, where it does not do what its manual says. Options that are read with --args-stdin add to
// those of the command line; in Salt they put all others back to their defaults, which turns `salt -G --args-stdin`
// into a glob. And the command line goes before the Saltfile; in Salt a Saltfile in the working directory overrules
// even -c.
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
	exitNoTarget = 42 // incomplete command lines of salt
)

// environ looks a variable of the environment up; "" when it is not set.
type environ func(string) string

// An Invocation is what a run of a program gets from outside.
type Invocation struct {
	Args  []string // without the name of the program
	Env   func(string) string
	Stdin io.Reader    // read for --args-stdin only
	Dir   string       // the working directory; "" when it is gone
	Flags flags.Reader // reads the flags; nil: flags.Read
}

// System returns the Invocation of this process, whose flags are read by read; nil stands for flags.Read.
func System(read flags.Reader) Invocation {
	dir, _ := os.Getwd() // it may have been removed under us, which is no fault
	return Invocation{Args: os.Args[1:], Env: os.Getenv, Stdin: os.Stdin, Dir: dir, Flags: read}
}

// An Exit is an error that ends the program at once with a code and texts, which may be empty.
type Exit struct {
	Code           int
	Stdout, Stderr string
}

func (e *Exit) Error() string { return fmt.Sprintf("exit %d: %s%s", e.Code, e.Stdout, e.Stderr) }

// Print writes the texts and returns the code.
func (e *Exit) Print(stdout, stderr io.Writer) int {
	_, _ = io.WriteString(stdout, e.Stdout) // a reader that has gone is no reason to say more
	_, _ = io.WriteString(stderr, e.Stderr)
	return e.Code
}

func (in Invocation) home() string {
	return accounts.Home(in.Env) // "" makes paths relative, which find nothing
}

// abs returns an absolute path, with ~ at its beginning replaced by the home directory.
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
