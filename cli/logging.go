package cli

import (
	"fmt"
	"io"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
)

// Warn logs the warnings of a configuration.
func Warn(log logrus.FieldLogger, report *config.Report) {
	for _, w := range report.Warnings {
		log.Warn(w)
	}
}

// PrintWarnings prints the warnings of a configuration for the program's user, unless log_level
// hides warnings. They do not go to the log file, because the daemon logged them there already.
func PrintWarnings(stderr io.Writer, opts *data.Map, report *config.Report) {
	if level, err := logging.ParseLevel(opts.Text("log_level")); err == nil &&
		level > logging.Warning {
		return
	}
	for _, w := range report.Warnings {
		fmt.Fprintf(stderr, "[WARNING ] %s\n", w)
	}
}
