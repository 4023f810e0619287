// Package saltmaster is the program salt-master. It is not in package cli so that other programs do without what a
// master needs.
package saltmaster

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/returner"
	"github.com/brineproject/brine/returners/jobstore"
)

// Run runs the program and returns its exit code.
func Run(ctx context.Context, in cli.Invocation, stdout, stderr io.Writer) int {
	o, err := cli.ParseMaster(in)
	if err != nil {
		return cli.Leave(err, stdout, stderr)
	}
	cli.Preface(o.Line, stderr)
	p, err := newProgram(in, o)
	if err != nil {
		fmt.Fprintf(stderr, "salt-master: %v\n", err)
		return 1
	}
	return p.daemon.Serve(ctx, in, stdout, stderr)
}

// JobCache returns what opens the job cache of a master: one file in its cachedir.
func JobCache(cfg *config.Master, log logrus.FieldLogger) func(context.Context) (returner.JobCache, error) {
	return func(ctx context.Context) (returner.JobCache, error) {
		return jobstore.Open(ctx, filepath.Join(cfg.CacheDir, "jobs.db"), jobstore.Options{Log: log})
	}
}
