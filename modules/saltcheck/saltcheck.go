// Package saltcheck is Salt's module saltcheck: it tests states with calls of functions and
// assertions about their results (salt/modules/saltcheck.py, and of 3007 the argument junit).
//
// suite.go finds the files of tests, check.go runs a test, assertion.go judges a result and cast.go
// converts expected values. report.go summarises results, junit.go writes them as XML.
//
// Differences from Salt: tests are called on the minion as it is, so they see its pillar and its
// file server; Salt calls them on a new minion without a master. The files of a state are loaded in
// the order of their paths. saltcheck_parallel has no effect on tests that apply states. The order
// of keys in dictionaries never counts. An environment without states has no state without tests,
// where Salt counts one without a name.
package saltcheck

import (
	"context"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module saltcheck.
func Plugin() loader.Plugin { return loader.Plugin{Name: "saltcheck", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("report_highstate_tests", m.reportHighstateTests),
		loader.F("run_highstate_tests", m.runHighstateTests),
		loader.F("run_state_tests", m.runStateTests),
		loader.F("run_state_tests_ssh", m.runStateTests).Def("run_state_tests"),
		loader.F("run_test", m.runTest),
		loader.F("state_apply", m.stateApply),
	}}, nil
}

type runTestArgs struct {
	Kwargs *data.Map `kwargs:"kwargs"`
}

// runTest runs one test and returns its result: the status Pass, Fail or Skip with the reason, and
// the duration in seconds.
//
// test
//
//	A dictionary with the keys of a test in a file; see saltcheck.run_state_tests.
//
// CLI Example:
//
//	salt '*' saltcheck.run_test test='{"module_and_function": "test.true", "assertion": "assertTrue"}'
func (m *module) runTest(ctx context.Context, a runTestArgs) (any, error) {
	test, _ := a.Kwargs.Value("test").(*data.Map)
	if test.Len() == 0 {
		return "Test argument must be a dictionary", nil
	}
	c, err := newChecker(ctx, m.env)
	if err != nil {
		return nil, err
	}
	return c.run(ctx, test)
}

type stateApplyArgs struct {
	StateName any
	Kwargs    *data.Map `kwargs:"kwargs"`
}

// stateApply calls state.apply, to prepare or clean up what tests look at. Further arguments are
// those of state.apply.
//
// CLI Example:
//
//	salt '*' saltcheck.state_apply postfix
func (m *module) stateApply(ctx context.Context, a stateApplyArgs) (any, error) {
	return m.env.Call(ctx, "state.apply", []any{a.StateName}, a.Kwargs)
}

type runStateTestsArgs struct {
	State     any
	Saltenv   any  `default:"None"`
	CheckAll  bool `default:"False"`
	OnlyFails bool `default:"False"`
	JUnit     bool `default:"False" name:"junit"`
}

// runStateTests runs the tests of states, and of the states that they include. It returns the
// results of each state and a summary. The return code is 1 if a test fails.
//
// Tests are files that end in .tst, in the directory saltcheck-tests beside the SLS files; the
// option saltcheck_test_location names another directory. The tests of web/init.sls are in
// web/saltcheck-tests/init.tst. A file is rendered as an SLS file is, and holds tests by name:
//
//	the user deploy exists:
//	  module_and_function: user.info
//	  args: [deploy]
//	  assertion: assertEqual
//	  assertion_section: shell
//	  expected_return: /bin/bash
//
// Assertions are assertEqual, assertNotEqual, assertTrue, assertFalse, assertIn, assertNotIn,
// assertGreater, assertGreaterEqual, assertLess, assertLessEqual, assertEmpty and assertNotEmpty. A
// list of assertions about one call is under the key assertions. Further keys are kwargs,
// pillar_data, assertion_section_delimiter, print_result, output_details and skip.
//
// With the option saltcheck_parallel, tests run at the same time, as many as the host has
// processors or saltcheck_processes says.
//
// state
//
//	The names of SLS or of files of tests: a list, or names separated by commas.
//
// saltenv : base
//
//	The environment of the states.
//
// check_all : False
//
//	Run all tests in the directories of the states.
//
// only_fails : False
//
//	Return only results of tests that fail.
//
// junit : False
//
//	Return the results as XML in the format of JUnit.
//
// CLI Example:
//
//	salt '*' saltcheck.run_state_tests postfix,common
func (m *module) runStateTests(ctx context.Context, a runStateTestsArgs) (any, error) {
	return m.states(ctx, loader.SplitList(a.State), a)
}

type runHighstateTestsArgs struct {
	Saltenv   any  `default:"None"`
	OnlyFails bool `default:"False"`
	JUnit     bool `default:"False" name:"junit"`
}

// runHighstateTests runs the tests of all states that the top file assigns to the minion. See
// saltcheck.run_state_tests for tests, results and arguments.
//
// CLI Example:
//
//	salt '*' saltcheck.run_highstate_tests
func (m *module) runHighstateTests(ctx context.Context, a runHighstateTestsArgs) (any, error) {
	saltenv := m.saltenv(a.Saltenv)
	names, err := m.topStates(ctx, saltenv)
	if err != nil {
		return nil, err
	}
	return m.states(ctx, names,
		runStateTestsArgs{Saltenv: saltenv, OnlyFails: a.OnlyFails, JUnit: a.JUnit})
}

type reportHighstateTestsArgs struct {
	Saltenv any `default:"None"`
}

// reportHighstateTests returns which states that the top file assigns to the minion have tests, and
// which do not. The return code is the number of states without tests.
//
// CLI Example:
//
//	salt '*' saltcheck.report_highstate_tests
func (m *module) reportHighstateTests(
	ctx context.Context, a reportHighstateTestsArgs,
) (any, error) {
	saltenv := m.saltenv(a.Saltenv)
	names, err := m.topStates(ctx, saltenv)
	if err != nil {
		return nil, err
	}
	s, err := newSuite(ctx, m.env, saltenv, false)
	if err != nil {
		return nil, err
	}
	missing := []any{}
	for _, name := range names {
		if err := s.find(ctx, name); err != nil {
			return nil, err
		}
		if !s.tested(name) {
			missing = append(missing, name)
		}
	}
	loader.ContextOf(ctx).SetRetcode(len(missing))
	return data.NewMap("TEST REPORT RESULTS", data.NewMap("Missing Tests", int64(len(missing)),
		"States missing tests", missing, "States with tests", data.Values(s.found))), nil
}

// saltenv returns the environment of a call: the argument, else the option, else base.
func (m *module) saltenv(given any) string {
	for _, v := range []any{given, m.env.Option("saltenv")} {
		if data.Truth(v) {
			return data.Str(v)
		}
	}
	return "base"
}

// topStates returns the SLS that the top file assigns to the minion in an environment.
func (m *module) topStates(ctx context.Context, saltenv string) ([]string, error) {
	v, err := m.env.Call(ctx, "state.show_top", nil, data.NewMap("saltenv", saltenv))
	if err != nil {
		return nil, err
	}
	top, ok := v.(*data.Map)
	if !ok {
		return nil, loader.Execution("the top file cannot be used: %s", data.Str(v))
	}
	list, err := loader.ResultAs[[]any]("state.show_top", top.Value(saltenv))
	if err != nil {
		return nil, fmt.Errorf("environment %s: %w", saltenv, err)
	}
	return data.Texts(list), nil
}

// states runs the tests of states and returns their results.
func (m *module) states(ctx context.Context, names []string, a runStateTestsArgs) (any, error) {
	s, err := newSuite(ctx, m.env, m.saltenv(a.Saltenv), a.CheckAll)
	if err != nil {
		return nil, err
	}
	c, err := newChecker(ctx, m.env)
	if err != nil {
		return nil, err
	}
	results := data.NewMap()
	for _, name := range names {
		if err := s.find(ctx, name); err != nil {
			return nil, err
		}
		tests, err := s.load(ctx)
		if err != nil {
			return nil, err
		}
		done, err := c.runAll(ctx, tests)
		if err != nil {
			return nil, err
		}
		if !data.Truth(results.Value(name)) {
			results.Set(name, done)
		}
	}
	r := summarise(results)
	loader.ContextOf(ctx).SetRetcode(min(int(r.failed), 1))
	if a.JUnit {
		return junit(results), nil
	}
	return r.list(results, a.OnlyFails), nil
}
