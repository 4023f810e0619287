//go:build !small || python

package saltminion

import (
	"context"
	"fmt"
	"os"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/cli/code"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/grains"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/python"
)

// Installed returns a function that returns the section of the report of versions for the installed
// Salt that the minion's option python_salt names.
func Installed(env func(string) string) func(configDir string) string {
	return func(configDir string) string {
		cfg, _, err := config.LoadMinion(configDir, env)
		if err != nil {
			return ""
		}
		salt, err := python.FindLibrary(context.Background(), cfg.Map().Value("python_salt"), "python3")
		if err != nil || salt == nil {
			return ""
		}
		where := salt.Interpreter
		if salt.Path != "" {
			where = salt.Path
		}
		return fmt.Sprintf("Installed Salt:\n   python_salt: %s (%s)\n \n", salt.Version, where)
	}
}

// NewCode returns the users' own plug-ins of a daemon or, if daemon is false, of a command.
func NewCode(opts *data.Map, log *logrus.Logger, daemon bool) Code {
	collect := func(ctx context.Context) (*data.Map, error) {
		return grains.New(grains.Options{Opts: opts, Env: os.Getenv, Log: log}).Collect(ctx)
	}
	return code.New(code.Options{Opts: opts, Daemon: daemon, Log: log,
		Services: python.Services{Grains: collect}})
}

// hasOwn reports whether there are files of users' own plug-ins of a kind.
func hasOwn(kind string, opts *data.Map) bool {
	return len(python.FileNames(python.Directories(opts)[kind])) > 0
}

// outputters returns the outputters that users' own plug-ins may call.
func outputters() []loader.Plugin { return cli.Outputters() }
