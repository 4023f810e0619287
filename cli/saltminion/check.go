package saltminion

import (
	"errors"
	"slices"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/engines"
	stdengines "github.com/brineproject/brine/engines/standard"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/minion"
	"github.com/brineproject/brine/modules"
	stdreturners "github.com/brineproject/brine/returners/standard"
	"github.com/brineproject/brine/schedule"
)

// validate returns the faults of a configuration besides the types of options, and adds warnings to
// the report.
func validate(cfg *config.Minion, report *config.Report) error {
	errs := []error{report.Locate(minion.CheckMasters(cfg)),
		report.Judge("return", checkReturners(cfg)),
		report.Judge("engines", checkEngines(cfg)),
		report.Judge("log_fmt_console", logging.CheckFormat(cfg.LogFmtConsole)),
		report.Judge("log_fmt_logfile", logging.CheckFormat(cfg.LogFmtLogfile)),
		report.Judge("ssl", cli.IdleTLS(cfg.Transport, cfg.Map())),
		report.Judge("vault", checkVault(cfg.Map()))}
	if cfg.Schedule.Len() > 0 {
		known := cli.Knows(modules.Plugins(modules.Brought()), cfg.Map())
		errs = append(errs, report.Judge("schedule",
			schedule.Check(minion.OwnJobs(cfg.Schedule), known)))
	}
	CheckLocalDirs(cfg, report)
	report.WarnUnused(cfg.Unused(report))
	return errors.Join(errs...)
}

// CheckLocalDirs adds a warning to the report for each directory of file_roots and pillar_roots
// that does not exist, if the minion uses local files.
func CheckLocalDirs(cfg *config.Minion, report *config.Report) {
	if cfg.FileClient == "local" {
		report.Folders("file_roots", cfg.FileRoots)
		report.Folders("pillar_roots", cfg.PillarRoots)
	}
}

// checkReturners reports unknown returners. The minion works without them; Salt's minion notices
// them only with the first return. If there are users' own returners it reports none, because their
// names are known only when Python has loaded them.
func checkReturners(cfg *config.Minion) error {
	if hasOwn("returners", cfg.Map()) {
		return nil
	}
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

// checkEngines validates the engines. The names of users' own ones are known only when Python has
// loaded them.
func checkEngines(cfg *config.Minion) error {
	known := stdengines.ForMinions()
	if hasOwn("engines", cfg.Map()) {
		for _, name := range engines.Modules(cfg.Engines) {
			if known[name] == nil {
				known[name] = engines.Own("", nil)
			}
		}
	}
	return engines.Check(cfg.Engines, known)
}
