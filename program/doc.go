// Package program runs users' own plug-ins that are programs: execution modules, states, grains and
// runners in any language. Such a program lies where a module in Python would, and its name has no
// suffix: _modules/motd.
//
// # Start
//
// A program is started in two ways. With the argument describe it prints what it offers, one
// document in JSON, and ends:
//
//	{"doc": "The message of the day.", "functions": {"get": {"doc": "…", "params": [{"path": "/etc/motd"}]}}}
//
// With the argument run it answers calls until its standard input ends. A job starts it at its
// first call, and has one process of it unless calls are nested or run side by side.
//
// # Lines
//
// Both sides write one object in JSON a line. Brine sends calls, in which each parameter has its
// name and each default is filled in, and the program answers with a result or an error:
//
//	{"call": "get", "args": [], "kwargs": {"path": "/etc/motd"}, "test": false}
//	{"return": "Welcome"}
//	{"error": {"class": "CommandExecutionError", "message": "read /etc/motd: no such file"}}
//
// Before its answer a program may write lines of the log, and call functions of Brine. The answer of
// such a call is its next line of input:
//
//	{"log": "info", "message": "reading"}
//	{"salt": "cmd.run", "args": ["uptime"], "kwargs": {}}
//
// docs/programs-as-modules.md is the reference.
//
// # Faults
//
// A program costs no more than its job: a line has a limit, what it logs has one, describe has a
// time limit, and the end of the job ends it with all that it has started. One that prints anything
// but the lines above is ended, and the call fails.
package program
