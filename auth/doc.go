// Package auth implements authentication and authorization on a master (salt/auth/__init__.py,
// salt/utils/minions.py, salt/acl).
//
// A user authenticates in one of three ways: with the key file of a user on the master's host, with
// a name and password checked by an external system (external_auth), or with a token from an
// earlier login. [FromLoad] extracts these credentials from a request; this package reads nothing
// else of it:
//
//	id, err := gate.Identify(ctx, auth.FromLoad(load))   // who it is; the error is a *Refusal
//	id.MayPublish(auth.Publication{Fun: "test.ping", …}) // may they send this job
//	err = id.MayRun(auth.Runner, "jobs.list_jobs", args, kwargs)
//
// # Rules
//
// The rights of a user are a list of rules under their name in publisher_acl or
// external_auth.SYSTEM. A rule is a regular expression for function names, valid for all minions;
// or a target with the functions and arguments allowed there; or it begins with @ and applies to
// runner or wheel functions.
//
// docs/access.md lists where the rules are stricter than Salt's.
//
// auth.enable_expanded_auth_matching is not supported: in Salt it fails for every rule with a
// target.
package auth
