package cli

import (
	"io"
	"os"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/logging"
)

// OpenLog opens the log of a program that is no daemon: the console, and the log file of the
// options if it is writable. Close it at the end.
func OpenLog(opts *data.Map, console io.Writer) (*logrus.Logger, io.Closer, error) {
	s, err := logging.SettingsOf(opts)
	if err != nil {
		return nil, nil, err
	}
	o := logging.Options{Console: console, PID: os.Getpid()}
	if s.Level == "quiet" {
		s.File = ""
	}
	log, err := logging.New(s, o)
	if err == nil {
		return log.Logger, log, nil
	}
	file := s.File
	s.File = ""
	if log, fault := logging.New(s, o); fault == nil && file != "" {
		log.WithError(err).Warnf("Failed to open log file, do you have permission to write to %s?",
			file)
		return log.Logger, log, nil
	}
	return nil, nil, err
}
