// Package calls has typed wrappers for the calls that plug-ins make to execution modules (Salt's
// __salt__): named arguments and checked results.
//
// Each file has the functions of one module: cmd, config, cp, data, file, grains, match, pillar,
// publish, saltutil, status, and user with group. All of them go through [loader.Env].Call and are
// dispatched by name. So a user's own module can replace any of them, and no plug-in imports
// another. Functions with only one caller are called with [loader.CallAs], or with [Found] if they
// return False or an empty value for "not found".
//
// A result of an unexpected type is an error that names the function and both types.
//
// Programs are run by the module cmd:
//
//	ran, err := calls.RunAll(ctx, m.env, calls.Run{Argv: []string{"blkid", "-o", "export"}, IgnoreRetcode: true})
//	if err != nil {
//		return nil, err
//	}
//	if ran.Retcode != 0 {
//		return nil, loader.Execution("blkid: %s", ran.Stderr)
//	}
package calls
