package cli

import (
	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
)

// Warn logs the warnings of a configuration.
func Warn(log logrus.FieldLogger, report *config.Report) {
	for _, w := range report.Warnings {
		log.Warn(w)
	}
}
