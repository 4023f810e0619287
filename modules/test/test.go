// Package test is Salt's module test: simple functions to test a minion, its connection, the
// parsing of arguments, and the handling of errors and return codes (salt/modules/test.py).
package test

import (
	"context"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module test.
func Plugin() loader.Plugin { return loader.Plugin{Name: "test", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	funcs := []loader.Func{
		loader.F("ping", m.ping),
		loader.F("true", m.true).Def("true_"),
		loader.F("false", m.false).Def("false_"),
		loader.F("echo", m.echo),
		loader.F("outputter", m.outputter),
		loader.F("retcode", m.retcode),
		loader.F("attr_call", m.attrCall),
		loader.F("conf_test", m.confTest),
		loader.F("get_opts", m.getOpts),
		loader.F("opts_pkg", m.optsPkg),
		loader.F("cross_test", m.crossTest),
		loader.F("tty", m.ttyMoved),
		loader.F("deprecation_warning", m.deprecationWarning),
	}
	for _, more := range [][]loader.Func{m.arguments(), m.numbers(), m.reports(), m.exceptions()} {
		funcs = append(funcs, more...)
	}
	return &loader.Module{Funcs: funcs}, nil
}

// ping returns True. It shows that the minion is running, has an accepted key and executes jobs. It
// sends no ICMP ping.
//
// CLI Example:
//
//	salt '*' test.ping
func (m *module) ping(context.Context, loader.NoArgs) (any, error) {
	m.env.Log.Debugf("test.ping received for minion '%s'", m.env.Opts.Text("id"))
	return true, nil
}

// true always returns True.
//
// CLI Example:
//
//	salt '*' test.true
func (m *module) true(context.Context, loader.NoArgs) (any, error) { return true, nil }

// false always returns False.
//
// CLI Example:
//
//	salt '*' test.false
func (m *module) false(context.Context, loader.NoArgs) (any, error) { return false, nil }

type echoArgs struct{ Text any }

// echo returns its argument. It tests the path to the minion and back.
//
// CLI Example:
//
//	salt '*' test.echo 'foo bar baz quo qux'
func (m *module) echo(_ context.Context, a echoArgs) (any, error) { return a.Text, nil }

type outputterArgs struct{ Data any }

// outputter returns its argument. It tests how an outputter prints it.
//
// CLI Example:
//
//	salt '*' test.outputter foobar
func (m *module) outputter(_ context.Context, a outputterArgs) (any, error) { return a.Data, nil }

type retcodeArgs struct {
	Code any `default:"42"`
}

// retcode sets the return code of the job.
//
// CLI Example:
//
//	salt '*' test.retcode 42
func (m *module) retcode(ctx context.Context, a retcodeArgs) (any, error) {
	loader.ContextOf(ctx).Set("retcode", a.Code)
	return true, nil
}

// attrCall calls grains.items from within a function.
//
// CLI Example:
//
//	salt '*' test.attr_call
func (m *module) attrCall(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.env.Call(ctx, "grains.items", nil, nil)
}

// confTest returns the option test.foo of the minion, or its default.
//
// CLI Example:
//
//	salt '*' test.conf_test
func (m *module) confTest(ctx context.Context, _ loader.NoArgs) (any, error) {
	return m.env.Call(ctx, "config.option", []any{"test.foo"}, nil)
}

// getOpts returns the options of the minion.
//
// CLI Example:
//
//	salt '*' test.get_opts
func (m *module) getOpts(context.Context, loader.NoArgs) (any, error) {
	return m.env.Opts.Clone(), nil
}

// optsPkg returns the options of the minion and its grains.
//
// CLI Example:
//
//	salt '*' test.opts_pkg
func (m *module) optsPkg(context.Context, loader.NoArgs) (any, error) {
	opts := m.env.Opts.Clone()
	opts.Set("grains", m.env.GrainsNow())
	return opts, nil
}

type crossArgs struct {
	Func string
	Args []any `default:"None" name:"args"`
}

// crossTest calls another function of the minion by name, with a list of arguments.
//
// CLI Example:
//
//	salt '*' test.cross_test file.gid_to_group 0
func (m *module) crossTest(ctx context.Context, a crossArgs) (any, error) {
	return m.env.Call(ctx, a.Func, a.Args, nil)
}

type anyArgs struct {
	Args   []any     `args:"args"`
	Kwargs *data.Map `kwargs:"kwargs"`
}

// ttyMoved is deprecated. Use cmd.tty.
//
// CLI Example:
//
//	salt '*' test.tty tty0 'This is a test'
//	salt '*' test.tty pts3 'This is a test'
func (m *module) ttyMoved(context.Context, anyArgs) (any, error) {
	return "ERROR: This function has been moved to cmd.tty", nil
}

// deprecationWarning returns True and logs two deprecation warnings on the minion.
//
// CLI Example:
//
//	salt '*' test.deprecation_warning
func (m *module) deprecationWarning(context.Context, loader.NoArgs) (any, error) {
	m.env.Log.Warn("DeprecationWarning: This is a test deprecation warning by version.")
	m.env.Log.Warn("DeprecationWarning: This is a test deprecation warning by date very far into the future (3000-01-01).")
	return true, nil
}
