// Package state compiles what users write in SLS and top files into high data and low chunks. It runs nothing.
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
// Whatever is wrong in what users wrote is a problem: a text for people, Salt's own, of which all are told together. An
// error is what keeps the compiler from going on: a file server that does not answer, a context that is done, a top file
// that cannot be merged.
//
// High data is a dictionary of ids. Each holds its states by their names, lists of arguments, and __sls__ and __env__, the
// SLS that it is from; __extend__ and __exclude__ stand beside them until Resolve. A low chunk is a dictionary of arguments
// with the keys state, fun, name, __id__, __sls__, __env__ and order.
//
// The rules are those of salt/state.py (BaseHighState and State). Where Salt ends in a Python exception, as for a key that
// is no text, this reports a problem or leaves out what makes no sense.
package state
