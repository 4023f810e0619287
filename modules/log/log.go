// Package log is Salt's module log: templates write to the minion's log (salt/modules/logmod.py).
//
// The logger is named salt.loaded.int.module.logmod, as in Salt, so that log_granular_levels can
// refer to it.
package log

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/logging"
)

// Plugin returns the module log.
func Plugin() loader.Plugin { return loader.Plugin{Name: "log", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("critical", m.critical),
		loader.F("debug", m.debug),
		loader.F("error", m.error),
		loader.F("exception", m.exception),
		loader.F("info", m.info),
		loader.F("warning", m.warning),
	}}, nil
}

type messageArgs struct{ Message any }

// write logs a message and returns true, the result of all functions of the module.
func (m *module) write(level logging.Level, text string) (any, error) {
	logging.Print(m.env.Log.WithField("name", "salt.loaded.int.module.logmod"), level, text)
	return true, nil
}

// debug logs a message at the level DEBUG.
//
// CLI Example:
//
//	salt '*' log.debug "value of the map: 1"
func (m *module) debug(_ context.Context, a messageArgs) (any, error) {
	return m.write(logging.Debug, data.Str(a.Message))
}

// info logs a message at the level INFO.
//
// CLI Example:
//
//	salt '*' log.info "the formula is rendered"
func (m *module) info(_ context.Context, a messageArgs) (any, error) {
	return m.write(logging.Info, data.Str(a.Message))
}

// warning logs a message at the level WARNING.
//
// CLI Example:
//
//	salt '*' log.warning "this pillar is old"
func (m *module) warning(_ context.Context, a messageArgs) (any, error) {
	return m.write(logging.Warning, data.Str(a.Message))
}

// error logs a message at the level ERROR.
//
// CLI Example:
//
//	salt '*' log.error "there is no pillar"
func (m *module) error(_ context.Context, a messageArgs) (any, error) {
	return m.write(logging.Error, data.Str(a.Message))
}

// critical logs a message at the level CRITICAL.
//
// CLI Example:
//
//	salt '*' log.critical "there is no disk"
func (m *module) critical(_ context.Context, a messageArgs) (any, error) {
	return m.write(logging.Critical, data.Str(a.Message))
}

// exception logs a message at the level ERROR, followed by a line that no exception is being
// handled, which is always the case in a template.
//
// CLI Example:
//
//	salt '*' log.exception "this should not be"
func (m *module) exception(_ context.Context, a messageArgs) (any, error) {
	return m.write(logging.Error, data.Str(a.Message)+"\nNoneType: None")
}
