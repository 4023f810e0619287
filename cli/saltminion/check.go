package saltminion

import (
	"errors"
	"slices"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/minion"
	"github.com/brineproject/brine/modules"
	stdreturners "github.com/brineproject/brine/returners/standard"
	"github.com/brineproject/brine/schedule"
)

// wrong says what is wrong in a configuration besides the types of options, and adds to the report what is odd in it.
func wrong(cfg *config.Minion, report *config.Report) error {
	errs := []error{report.Locate(minion.CheckMasters(cfg)), report.Judge("return", wrongReturners(cfg)),
		report.Judge("log_fmt_console", logging.CheckFormat(cfg.LogFmtConsole)),
		report.Judge("log_fmt_logfile", logging.CheckFormat(cfg.LogFmtLogfile)),
		report.Judge("ssl", cli.IdleTLS(cfg.Transport, cfg.Map()))}
	if cfg.Schedule.Len() > 0 {
		known := cli.Knows(modules.Plugins(modules.Brought()), cfg.Map())
		errs = append(errs, report.Judge("schedule", schedule.Check(minion.OwnJobs(cfg.Schedule), known)))
	}
	LocalFolders(cfg, report)
	report.WarnUnused(cfg.Unused(report))
	return errors.Join(errs...)
}

// LocalFolders adds to the report the directories of file_roots and pillar_roots that do not exist, where files come from there.
func LocalFolders(cfg *config.Minion, report *config.Report) {
	if cfg.FileClient == "local" {
		report.Folders("file_roots", cfg.FileRoots)
		report.Folders("pillar_roots", cfg.PillarRoots)
	}
}

// wrongReturners looks for returners that are not there. The minion works without them, as Salt's, which finds that out with the
// first return.
func wrongReturners(cfg *config.Minion) error {
	var there []string
	for _, p := range stdreturners.Plugins() {
		there = append(append(there, p.Name), p.Aliases...)
	}
	var errs []error
	for _, name := range cfg.Return {
		if !slices.Contains(there, name) {
			errs = append(errs, config.Doubt(config.NoSuch("returner", name, there, nil)))
		}
	}
	return errors.Join(errs...)
}
