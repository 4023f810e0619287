package console

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/brineproject/brine/netapi"
)

// fleetRunner is the runner whose absence tells that the master is not Brine's.
const fleetRunner = "manage.fleet"

// absentFor is how long the console believes that the master lacks a function. A master that is replaced
// meanwhile is asked anew afterwards.
const absentFor = 5 * time.Minute

// errNoFunction means that the master has no such function, as Salt's has none of those that only Brine's
// has.
var errNoFunction = errors.New("the master has no such function")

// absences are the functions that the master has been found to lack. Without them each page would ask a
// master of Salt again for what only Brine's has. The zero value is ready; several requests may use it.
type absences struct {
	mu    sync.Mutex
	until map[string]time.Time // by function
}

// note remembers that the master lacks a function.
func (a *absences) note(fun string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil {
		a.until = map[string]time.Time{}
	}
	a.until[fun] = now.Add(absentFor)
}

// has reports whether the master lacks a function, as far as that is known.
func (a *absences) has(fun string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return now.Before(a.until[fun])
}

// lacks reports whether the master is known to lack a function.
func (q *request) lacks(fun string) bool { return q.absent.has(fun, q.Now()) }

// noFunction remembers that the master lacks a function, and returns the fault that says so. It wraps
// errNoFunction.
func (q *request) noFunction(fun string) error {
	q.absent.note(fun, q.Now())
	return missingFunction(fun)
}

func missingFunction(fun string) error {
	text := "This master has no function " + fun + ". Brine's master has it."
	return &netapi.Fault{Status: http.StatusNotImplemented, Text: text, Err: errNoFunction}
}
