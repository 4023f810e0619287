// Package program runs users' own plug-ins that are programs: execution modules, states, grains and
// runners in any language. Such a program lies where a module in Python would. Its name has no
// suffix: _modules/motd.
//
// # Start
//
// A program is started in two ways. With the argument describe it prints its description, one JSON
// object, and ends:
//
//	{"doc": "The message of the day.",
//	 "functions": {"get": {"doc": "…", "params": [{"path": "/etc/motd"}]}}}
//
// With the argument run it answers calls until its standard input ends. A job starts it at its
// first call, and has one process of it unless calls are nested or run side by side.
//
// # Lines
//
// Both sides write one JSON object a line. Brine sends calls, in which each parameter has its name
// and each default is filled in. The program answers with a result or an error:
//
//	{"call": "get", "args": [], "kwargs": {"path": "/etc/motd"}, "test": false}
//	{"return": "Welcome"}
//	{"error": {"class": "CommandExecutionError", "message": "read /etc/motd: no such file"}}
//
// Before its answer a program may write log lines and call functions of Brine. The answer to such a
// call is its next line of input:
//
//	{"log": "info", "message": "reading"}
//	{"salt": "cmd.run", "args": ["uptime"], "kwargs": {}}
//
// docs/programs-as-modules.md is the reference.
//
// # Faults
//
// A faulty program can fail its job, but not the daemon. Lines, log lines, nested calls and
// processes have limits, and describe has a time limit. The end of a job ends its programs, and a
// killed program ends with its children. A program that prints anything but the lines above is
// killed, and its call fails.
package program
