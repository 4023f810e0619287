package eventbus

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestServeWaitsForTheOther checks that a bus waits until another one leaves its sockets, and tells
// once that it waits. It gives up after its patience, or with its context.
func TestServeWaitsForTheOther(t *testing.T) {
	for _, name := range []string{"pub", "pull"} {
		t.Run(name, func(t *testing.T) {
			s, endOther := serve(t, New(Options{}), ServeOptions{})
			if name == "pull" {
				s.Pub += ".other"
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var told []error
			wait := func(why error) {
				told = append(told, why)
				endOther()
			}
			err := New(Options{}).Serve(ctx, s, ServeOptions{Patience: time.Hour, Wait: wait, Ready: stop})
			if err != nil || len(told) != 1 || !errors.Is(told[0], errTaken) {
				t.Errorf("Serve = %v, told %v", err, told)
			}
		})
	}
	s, _ := serve(t, New(Options{}), ServeOptions{})
	if err := New(Options{}).Serve(t.Context(), s,
		ServeOptions{Patience: time.Nanosecond}); !errors.Is(err, errTaken) ||
		!strings.Contains(err.Error(), s.Pub) {
		t.Errorf("without patience: %v", err)
	}
	told := 0
	err := New(Options{}).Serve(t.Context(), s,
		ServeOptions{Patience: 2*retryInterval + retryInterval/2, Wait: func(error) { told++ }})
	if !errors.Is(err, errTaken) || told != 1 {
		t.Errorf("after three looks: %v, told %d times", err, told)
	}
	ctx, stop := context.WithCancel(t.Context())
	if err := New(Options{}).Serve(ctx, s,
		ServeOptions{Patience: time.Hour, Wait: func(error) { stop() }}); err != nil {
		t.Errorf("at the end of the context: %v", err)
	}
	if err := removeStale(ctx, s.Pub); !errors.Is(err, context.Canceled) {
		t.Errorf("a look at a socket after the end of the context: %v", err)
	}
}
