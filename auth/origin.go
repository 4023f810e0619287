package auth

import (
	"slices"
	"strings"

	"github.com/brineproject/brine/data"
)

// originPrefix begins the keyword arguments with which a minion passes fields of the publication to
// a function (salt/minion.py, load_args_and_kwargs). Certificate policies trust __pub_id, which
// identifies the requesting minion.
const originPrefix = "__pub_"

// forgesOrigin reports whether a job passes a keyword argument reserved for the publication.
// Minions accept keywords in maps with __kwarg__ and in strings NAME=VALUE; the arguments of
// several functions are lists of these.
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
