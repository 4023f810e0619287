// Package calls has the calls that plug-ins make of execution modules, Salt's __salt__, with types:
// named arguments, and results that are checked.
//
// Each file has the functions of one module. All of them go through [loader.Env].Call, so that they
// are dispatched by name: a module of the user's own can stand in for any of them, and no plug-in
// imports another. Functions that are called from one place alone are called by [loader.CallAs].
//
// A program is run by the module cmd:
//
//	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"blkid", "-o", "export"}, IgnoreRetcode: true})
//	if err != nil {
//		return nil, err
//	}
//	if ran.Retcode != 0 {
//		return nil, loader.Execution("blkid: %s", ran.Stderr)
//	}
package calls
