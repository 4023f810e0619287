package cmd

import (
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// A level is a level of Python's package logging; quiet logs nothing.
type level int

const (
	levelTrace level = 5
	levelDebug level = 10
	levelInfo  level = 20
	levelWarn  level = 30
	levelError level = 40
	quiet      level = 1000
)

// levelNamed returns the level of a name, or info if it is unknown.
func levelNamed(log logrus.FieldLogger, name any) level {
	text, ok := name.(string)
	if n, known := levelOf(strings.ToLower(text)); ok && known {
		return n
	}
	log.Errorf("Invalid output_loglevel '%s'. Valid levels are: warning, trace, quiet, profile, info, garbage, error, "+
		"debug, critical, all. Falling back to 'info'.", data.Str(name))
	return levelInfo
}

func levelOf(name string) (level, bool) {
	switch name {
	case "all":
		return 0, true
	case "garbage":
		return 1, true
	case "trace":
		return levelTrace, true
	case "debug":
		return levelDebug, true
	case "profile":
		return 15, true
	case "info":
		return levelInfo, true
	case "warning":
		return levelWarn, true
	case "error":
		return levelError, true
	case "critical":
		return 50, true
	case "quiet":
		return quiet, true
	}
	return 0, false
}

// callbackOf returns the function that cleans texts before they are logged.
func callbackOf(log logrus.FieldLogger, v any) func(string) string {
	f, ok := v.(func(string) string)
	if ok {
		return f
	}
	if v != nil {
		log.Error("log_callback is not callable, ignoring")
	}
	return func(s string) string { return s }
}

// logAt writes to the log at a level.
func logAt(log logrus.FieldLogger, l level, format string, args ...any) {
	switch {
	case l >= quiet:
	case l >= levelError:
		log.Errorf(format, args...)
	case l >= levelWarn:
		log.Warnf(format, args...)
	case l >= levelInfo:
		log.Infof(format, args...)
	case l >= levelDebug:
		log.Debugf(format, args...)
	default:
		if log, ok := log.(logrus.Ext1FieldLogger); ok {
			log.Tracef(format, args...)
		}
	}
}
