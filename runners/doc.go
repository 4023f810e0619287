// Package runners calls runners and wheel functions as Salt's clients for them do. It binds the
// arguments, fires events about the beginning and the end on the master's bus, formats errors, and
// stores the result among the jobs (salt/client/mixins.py, low).
//
//	c := runners.New(runners.Options{Kind: runners.Runner, Functions: registry, Fire: fire, Keep: keep, ID: "m1_master"})
//	done := c.Run(ctx, runners.Call{Fun: "jobs.list_jobs", JID: ids.Next(), User: "root"})
//
// The program salt-run, the master's commands runner and wheel, its schedule and the execution
// functions saltutil.runner and saltutil.wheel all use this package.
//
// A function accesses its own run through [RunOf]: the job ID, the calling user, and ways to report
// progress (Salt's __jid__, __user__, __tag__ and __jid_event__).
package runners
