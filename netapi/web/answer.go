package web

import (
	"errors"
	"strings"

	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/media"
)

// FaultOf returns the fault by which a request with an error is answered: that of package netapi, that of
// package media in the same form, or one of the server.
func FaultOf(err error) *netapi.Fault {
	given, isFault := errors.AsType[*netapi.Fault](err)
	if bad, ok := errors.AsType[*media.Error](err); ok && !isFault {
		return &netapi.Fault{Status: bad.Status, Text: bad.Text, Err: bad.Err}
	}
	if isFault {
		return given
	}
	return netapi.FaultOf(err)
}

// Methods returns the methods of an address that answers GET, POST or both, as the header Allow has them.
func Methods(get, post bool) string {
	var all []string
	if get {
		all = append(all, "GET", "HEAD")
	}
	if post {
		all = append(all, "POST")
	}
	return strings.Join(all, ", ")
}
