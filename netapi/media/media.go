// Package media converts the bodies of Salt's HTTP API to values, and values to answers.
//
// Read decodes the body of a request by its Content-Type: a form, JSON, YAML, or text that may be
// JSON. Low turns the result into lowstate chunks, and Post and Text are the parts of a hook's
// event. Choose selects JSON or YAML by the Accept header. Answers sends a value in that format, or an
// error.
//
//	body, err := media.Read(r, 1<<20)
//	low, err := body.Low()
//	accept, _ := media.Accept(r)
//	format, err := media.Choose(accept)
//	err = answers.Write(w, r, format, http.StatusOK, data.NewMap("return", results))
//
// A body never costs memory out of proportion to its limit in bytes: the values in it, aliases
// followed, the nesting, the digits of a number and the fields of a form are limited too.
//
// The behaviour follows rest_cherrypy of Salt 3006 (salt/netapi/rest_cherrypy/app.py) and the tool
// accept of CherryPy 18.8.0. It differs where Salt has a fault. The limit of a body is enforced.
// Bad YAML, and chunks that are no objects, are errors of the client (400). Errors are JSON for
// clients that ask for JSON, and have neither a traceback nor the server's version.
package media

import "fmt"

// An Error is the reason why a request is rejected or its result cannot be sent.
type Error struct {
	Status int    // of the answer
	Text   string // for the client
	Err    error  // the cause, for the log; may be nil
}

// Error returns the text for the client and the cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Text
	}
	return fmt.Sprintf("%s: %v", e.Text, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
