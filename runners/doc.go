// Package runners calls functions of the shelves runners and wheel as Salt's clients for them do: it binds the arguments,
// tells of the beginning and the end on the master's bus, makes a text of what went wrong, and keeps the result among the
// jobs (salt/client/mixins.py, low).
//
//	c := runners.New(runners.Options{Kind: runners.Runner, Functions: registry, Fire: fire, Keep: keep, ID: "m1_master"})
//	done := c.Run(ctx, runners.Call{Fun: "jobs.list_jobs", JID: ids.Next(), User: "root"})
//
// The program salt-run, the master's commands runner and wheel, its schedule and the execution functions saltutil.runner
// and saltutil.wheel all go this way.
//
// A function learns of its own run by [RunOf]: the job id, who called, and how to tell of progress (Salt's __jid__,
// __user__, __tag__ and __jid_event__).
package runners
