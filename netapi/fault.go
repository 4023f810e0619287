package netapi

import (
	"errors"
	"fmt"
	"net/http"
)

// A Fault is why a request is not served: a status of HTTP and a text for the client. The texts that
// Salt has are Salt's (salt/netapi/__init__.py, salt/netapi/rest_cherrypy/app.py).
type Fault struct {
	Status int
	Text   string
	Err    error // the reason, for the log; may be nil
}

// Error returns the text for the client and the reason.
func (f *Fault) Error() string {
	if f.Err != nil {
		return fmt.Sprintf("%s: %v", f.Text, f.Err)
	}
	return f.Text
}

// Unwrap returns the reason.
func (f *Fault) Unwrap() error { return f.Err }

func fault(status int, format string, args ...any) *Fault {
	return &Fault{Status: status, Text: fmt.Sprintf(format, args...)}
}

// because returns a fault with its reason.
func because(status int, err error, text string) *Fault {
	return &Fault{Status: status, Text: text, Err: err}
}

// FaultOf returns the *Fault in err. Any other error is a fault of the server.
func FaultOf(err error) *Fault {
	if f, ok := errors.AsType[*Fault](err); ok {
		return f
	}
	return because(http.StatusInternalServerError, err, "An unexpected error occurred")
}

// The texts of refusals.
const (
	textNoSession  = "No permission -- see authorization schemes"
	textBadLogin   = "Could not authenticate using provided credentials"
	textNoLogin    = "No authentication credentials given"
	textNoMaster   = "Salt Master is not available."
	textLate       = "The gateway server did not receive a timely response"
	textBadToken   = "Invalid token"
	textBadAddress = "Bad IP"
)
