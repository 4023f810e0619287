package console

import (
	"sync"
	"time"
)

// fleetRunner is the runner whose absence tells that the master is not Brine's.
const fleetRunner = "manage.fleet"

// absentFor is how long the console believes that the master lacks a function. A master that is replaced
// meanwhile is asked anew afterwards.
const absentFor = 5 * time.Minute

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
