package auth

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// originPrefix begins the keyword arguments by which a minion tells a function about its publication
// (salt/minion.py, load_args_and_kwargs). Certificate policies trust __pub_id, which names the minion that asked.
const originPrefix = "__pub_"

// forgesOrigin reports whether an argument of a job has a keyword that only the publication itself may set. Minions find
// keywords in maps with __kwarg__ and in texts NAME=VALUE; the arguments of several functions are lists of these.
func forgesOrigin(args []any) bool {
	return slices.ContainsFunc(args, func(arg any) bool {
		switch arg := arg.(type) {
		case []any:
			return forgesOrigin(arg)
		case string:
			return strings.HasPrefix(arg, originPrefix) && isKwarg(arg)
		case *data.Map:
			return arg.Has("__kwarg__") && slices.ContainsFunc(arg.Keys(), isOrigin)
		}
		return false
	})
}

// isOrigin reports whether a key is the name of such a keyword.
func isOrigin(key any) bool {
	name, _ := key.(string)
	return strings.HasPrefix(name, originPrefix)
}
