package logging

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"
)

// A Level is the weight of an entry, in Python's numbers (LOG_LEVELS of salt/_logging/impl.py).
type Level int

// The levels that Salt knows. What is lighter than the level of a place is not written there.
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

// Levels returns Salt's names of levels from the one that tells most.
func Levels() []string {
	return []string{"all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical", "quiet"}
}

// ParseLevel reads a name of Levels in any case, warn, or a number; "" is Warning, as no level at all is in Salt.
func ParseLevel(name string) (Level, error) {
	name = strings.ToLower(name)
	switch name {
	case "":
		return Warning, nil
	case "warn":
		name = "warning"
	}
	if i := slices.Index(Levels(), name); i >= 0 {
		return [...]Level{All, Garbage, Trace, Debug, Profile, Info, Warning, Error, Critical, Quiet}[i], nil
	}
	if n, err := strconv.ParseUint(name, 10, 16); err == nil {
		return Level(n), nil
	}
	return 0, fmt.Errorf("log level %q is unknown; the levels are %s", name, strings.Join(Levels(), ", "))
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

// Print logs args at a level that logrus has no method for, such as Profile and Garbage.
func Print(log logrus.FieldLogger, level Level, args ...any) {
	log.WithField(levelField, level).Log(max(level.logrus(), logrus.FatalLevel), args...)
}

// logrus returns the level of logrus that lets entries of l and above through.
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
