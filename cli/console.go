package cli

import (
	"io"
	"os"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// OpenLog opens the log of a program that is no daemon: the console, and the log file of the options where it can be
// written to. Close it at the end.
func OpenLog(opts *data.Map, console io.Writer) (*logrus.Logger, io.Closer, error) {
	s := LogOf(opts)
	s.console, s.processID = console, os.Getpid()
	if s.Level == "quiet" {
		s.File = ""
	}
	log, closer, err := newLog(s)
	if err == nil || s.File == "" {
		return log, closer, err
	}
	file := s.File
	s.File = ""
	log, closer, fault := newLog(s)
	if fault != nil {
		return nil, nil, fault
	}
	log.WithError(err).Warnf("Failed to open log file, do you have permission to write to %s?", file)
	return log, closer, nil
}
