package netapi

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// A Fault is why a request is not served: a status of HTTP and a text for the client. The texts that
// Salt has are Salt's (salt/netapi/__init__.py, salt/netapi/rest_cherrypy/app.py).
type Fault struct {
	Status int
	Text   string
	Err    error // the reason, for the log; may be nil
	// RetryAfter is when it is worth to try again, for the header of that name. 0 stands for some seconds
	// if the status is 429 or 503, and else for no such header.
	RetryAfter time.Duration
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

// SetHeaders sets the headers that the answer to a fault has.
func (f *Fault) SetHeaders(h http.Header) {
	after := f.RetryAfter
	if after == 0 && (f.Status == http.StatusTooManyRequests || f.Status == http.StatusServiceUnavailable) {
		after = retrySoon
	}
	if after > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	}
}

// retrySoon is when a request may be sent again that was refused by a limit, or for want of the master.
const retrySoon = 5 * time.Second

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
	textBusy       = "Another login of this user is being checked"
	textCrowded    = "Too many users give wrong passwords at the moment"
	textGone       = "The client has gone"
)

// statusGone is the status of a request whose client has not waited for the answer, as nginx logs it.
const statusGone = 499
