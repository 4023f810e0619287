// Package auth decides who may do what on a master (salt/auth/__init__.py, salt/utils/minions.py, salt/acl).
//
// Whoever gives an order proves himself in one of three ways: by the key file of a user on the master's host, by a name
// and a password that an outside system knows (external_auth), or by a token that such a login was given. [FromLoad]
// takes the proofs out of a request, and nothing else of the request is ever looked at here:
//
//	id, err := gate.Identify(ctx, auth.FromLoad(load))   // who it is; the error is a *Refusal
//	id.MayPublish(auth.Publication{Fun: "test.ping", …}) // may he send this job
//	err = id.MayRun(auth.Runner, "jobs.list_jobs", args, kwargs)
//
// # Rules
//
// The rights of a user are a list of rules, under his name in publisher_acl or in external_auth.SYSTEM. A rule is the name
// of a function as a regular expression, for all minions; or a target and what may be called there, and with which
// arguments; or begins with @ and is about runners and wheel functions.
//
// # Stricter than Salt
//
// On purpose, these differ from Salt:
//
//   - A regular expression matches a whole name, or a whole argument. Salt's match only how it begins: test.ping would
//     allow test.pinger, and ls as an argument would allow ls;reboot.
//   - In a job of several functions each must be allowed. Salt is content with one.
//   - A rule for a target allows nothing where the target names no minion, and a minion of which no grains are known is in
//     no target of a rule that asks for them.
//   - A user with rules in publisher_acl may run those runners and wheel functions that the rules name with @. Salt lets
//     him run all.
//   - With permissive_acl the rights under * are everybody's, as the option is described. In Salt nobody has them then.
//   - The name of a user in external_auth is compared as it is. Salt takes the name that was typed at the login for a
//     pattern.
//   - A password is tried once for each login that fails, and who waits for the answer holds up nobody else.
//
// auth.enable_expanded_auth_matching is not known: in Salt it fails for every rule with a target.
package auth
