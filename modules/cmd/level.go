package cmd

import (
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
)

// A level is a number of Python's package logging; quiet logs nothing.
type level int

const (
	levelTrace level = 5
	levelDebug level = 10
	levelInfo  level = 20
	levelWarn  level = 30
	levelError level = 40
	quiet      level = 1000
)

// level returns the level of a name; with one that does not exist, info.
func (m *module) level(name any) level {
	text, ok := name.(string)
	if n, known := levelOf(strings.ToLower(text)); ok && known {
		return n
	}
	m.env.Log.Errorf("Invalid output_loglevel '%s'. Valid levels are: warning, trace, quiet, profile, info, garbage, error, "+
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

// callback returns a function that cleans what is logged.
func (m *module) callback(v any) func(string) string {
	f, ok := v.(func(string) string)
	if ok {
		return f
	}
	if v != nil {
		m.env.Log.Error("log_callback is not callable, ignoring")
	}
	return func(s string) string { return s }
}

// log writes to the log at a level.
func (m *module) log(l level, format string, args ...any) {
	switch {
	case l >= quiet:
	case l >= levelError:
		m.env.Log.Errorf(format, args...)
	case l >= levelWarn:
		m.env.Log.Warnf(format, args...)
	case l >= levelInfo:
		m.env.Log.Infof(format, args...)
	case l >= levelDebug:
		m.env.Log.Debugf(format, args...)
	default:
		if log, ok := m.env.Log.(logrus.Ext1FieldLogger); ok {
			log.Tracef(format, args...)
		}
	}
}
