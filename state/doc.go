// Package state compiles SLS and top files into high data and low chunks. It runs nothing.
//
// A Compiler reads the files of one minion through its renderers:
//
//	c, err := state.New(state.Options{Engine: engine, Files: client})
//	high, problems, err := c.SLS(ctx, []string{"web.nginx"}, "base")   // what state.show_sls shows
//	if err == nil && len(problems) == 0 {
//		problems = c.Resolve(high)                                      // extend, requisites, exclude
//		chunks := state.Low(high)                                       // in the order in which they run
//	}
//
// A mistake in SLS or top files is a problem: a message for the user in Salt's wording. All
// problems are collected and returned together. An error is a condition that stops the compiler: an
// unreachable file server, an ended context, top files that cannot be merged.
//
// High data is a dictionary of IDs. Each ID holds its states by name, each with a list of
// arguments, and the SLS and environment it comes from in __sls__ and __env__. __extend__ and
// __exclude__ stay next to the IDs until Resolve. A low chunk is a dictionary of arguments with the
// keys state, fun, name, __id__, __sls__, __env__ and order.
//
// The rules are those of salt/state.py (BaseHighState and State). If Salt ends with a Python
// exception, for example for a key that is not a string, this package reports a problem or skips
// the entry.
package state
