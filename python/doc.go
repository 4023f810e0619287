// Package python runs users' own plug-ins that are written in Python: execution modules, states,
// grains and the other kinds that Salt loads from a file server or a directory.
//
// A [Host] starts the system's python3 when a user's plug-in needs it. Python runs a program whose
// source this package embeds, and Go speaks to it over a socket.
// A [Files] is a shelf's source of such plug-ins: to the rest of Brine their functions are
// [loader.Func] values with a description, errors and results like any other.
//
//	host := python.NewHost(python.Options{CacheDir: cfg.CacheDir, Log: log})
//	defer host.Close()
//	functions.Extend(host.Files("modules", functions.Env()))
//
// # Processes
//
// A daemon keeps one Python process as a template, started at the first use and ended after some
// idle time. Each job gets a worker, a process forked from it, for as long as the job lasts. What a
// plug-in leaves behind ends with the job, as under Salt, where each job is a process. A
// crash, a blocked call or used-up memory costs only that job. A command such as salt-call uses its
// Python process directly.
//
// A worker is killed when its job ends, and the programs that it has started as well if the job was
// killed. The template ends after some idle time, and with the daemon, however that ends; then it
// kills its workers. It keeps the process id of a worker reserved until Go has done with it.
//
// # Trust
//
// Python runs isolated (-I), and only files that root and the daemon's user alone can change
// (brinehost/trust.py). A worker judges them anew for each job.
//
// # Calls
//
// Calls go both ways and nest: Go calls a function of a worker, that calls __salt__['cmd.run'],
// which may call a function of the worker again. So a worker has a stack of calls, and one
// goroutine at a time uses it; a job whose goroutines call Python side by side gets more workers.
// The values cross in the format of Python's module marshal (marshal.go).
//
// # Library
//
// host/salt is the part of Salt's library that plug-ins import, written anew from what it does.
// What it needs of Brine it asks for by the operations that salt/_brine.py lists and answers.go
// performs: through [loader.Env] or, where that is not enough, through [Services] that the program
// provides. Each module is loaded when it is first used, and salt.modules.NAME stands for Brine's
// functions. A missing function raises an error with its name. host/tests compares it with Salt
// 3006.0's answers.
package python
