package logging

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"
)

// A Level is the severity of an entry, with Python's numbers (LOG_LEVELS of salt/_logging/impl.py).
type Level int

// Salt's levels. A sink does not write entries below its level.
const (
	All      Level = 0
	Garbage  Level = 1
	Trace    Level = 5
	Debug    Level = 10
	Profile  Level = 15
	Info     Level = 20
	Warning  Level = 30
	Error    Level = 40
	Critical Level = 50
	Quiet    Level = 1000
)

// Levels returns Salt's level names, most verbose first.
func Levels() []string {
	return []string{"all", "garbage", "trace", "debug", "profile", "info", "warning", "error",
		"critical", "quiet"}
}

// ParseLevel parses a name of Levels in any case, warn, or a number. As in Salt, "" means Warning.
func ParseLevel(name string) (Level, error) {
	name = strings.ToLower(name)
	switch name {
	case "":
		return Warning, nil
	case "warn":
		name = "warning"
	}
	if i := slices.Index(Levels(), name); i >= 0 {
		return [...]Level{All, Garbage, Trace, Debug, Profile, Info, Warning, Error, Critical,
			Quiet}[i], nil
	}
	if n, err := strconv.ParseUint(name, 10, 16); err == nil {
		return Level(n), nil
	}
	return 0, fmt.Errorf("log level %q is unknown; the levels are %s", name,
		strings.Join(Levels(), ", "))
}

// String returns Python's name of l, such as WARNING.
func (l Level) String() string {
	switch l {
	case All:
		return "NOTSET"
	case Garbage:
		return "GARBAGE"
	case Trace:
		return "TRACE"
	case Debug:
		return "DEBUG"
	case Profile:
		return "PROFILE"
	case Info:
		return "INFO"
	case Warning:
		return "WARNING"
	case Error:
		return "ERROR"
	case Critical:
		return "CRITICAL"
	case Quiet:
		return "QUIET"
	}
	return "Level " + strconv.Itoa(int(l))
}

// Print logs args at a level without a logrus method, such as Profile and Garbage.
func Print(log logrus.FieldLogger, level Level, args ...any) {
	log.WithField(levelField, level).Log(max(level.logrus(), logrus.FatalLevel), args...)
}

// logrus returns the logrus level that passes entries of l and above.
func (l Level) logrus() logrus.Level {
	switch {
	case l < Debug:
		return logrus.TraceLevel
	case l < Info:
		return logrus.DebugLevel
	case l < Warning:
		return logrus.InfoLevel
	case l < Error:
		return logrus.WarnLevel
	case l < Critical:
		return logrus.ErrorLevel
	case l < Quiet:
		return logrus.FatalLevel
	}
	return logrus.PanicLevel
}

// levelOf returns the level of an entry.
func levelOf(e *logrus.Entry) Level {
	if l, ok := e.Data[levelField].(Level); ok {
		return l
	}
	switch e.Level {
	case logrus.TraceLevel:
		return Trace
	case logrus.DebugLevel:
		return Debug
	case logrus.InfoLevel:
		return Info
	case logrus.WarnLevel:
		return Warning
	case logrus.ErrorLevel:
		return Error
	}
	return Critical
}
