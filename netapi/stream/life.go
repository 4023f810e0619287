package stream

import (
	"cmp"
	"errors"
	"time"
)

var (
	// ErrExpired is returned when the client's token is no longer valid.
	ErrExpired = errors.New("token of event stream has expired")
	// ErrSlow is wrapped by the error for a client that did not take a message in time.
	ErrSlow = errors.New("client reads events too slowly")
)

// errGone ends a stream whose client has left, which is no error to callers.
var errGone = errors.New("client of event stream has left")

// Life says how long a stream lasts. The zero value has no end.
type Life struct {
	// the stream ends at this time, also when there are no events; zero means never
	Until time.Time
	// reports whether the client's token is still valid. It is called before each event and at each
	// heartbeat, and must be fast; nil means always
	Valid func() bool

	Heartbeat    time.Duration // interval of heartbeats; 0 means 15 s
	WriteTimeout time.Duration // the client must take each message within this time; 0 means 10 s
}

func (l Life) withDefaults() Life {
	l.Heartbeat = cmp.Or(l.Heartbeat, 15*time.Second)
	l.WriteTimeout = cmp.Or(l.WriteTimeout, 10*time.Second)
	return l
}

func (l Life) check() error {
	if !l.Until.IsZero() && !time.Now().Before(l.Until) || l.Valid != nil && !l.Valid() {
		return ErrExpired
	}
	return nil
}

// A sink writes to one client.
type sink interface {
	send(i Item) error // writes an event, perhaps to a buffer
	rest() error       // no event is pending: empties the buffer
	beat() error       // writes a heartbeat
}

// feed writes events to s until the stream ends. It starts when start is closed, at once if it is nil.
// gone is closed when the client has left. The error is ErrExpired, ErrClosed, errGone or that of s.
func (l *Listener) feed(life Life, s sink, start, gone <-chan struct{}) error {
	tick := time.NewTicker(life.Heartbeat)
	defer tick.Stop()
	var until <-chan time.Time
	if !life.Until.IsZero() {
		t := time.NewTimer(time.Until(life.Until))
		defer t.Stop()
		until = t.C
	}
	for {
		var wake <-chan struct{}
		if start == nil {
			var err error
			if wake, err = l.drain(life, s); err != nil {
				return err
			}
		}
		select {
		case <-wake:
		case <-start:
			start = nil
			if !l.resume {
				l.skip()
			}
		case <-tick.C:
			if err := life.check(); err != nil {
				return err
			}
			if err := s.beat(); err != nil {
				return err
			}
		case <-until:
			return ErrExpired
		case <-gone:
			return errGone
		case <-l.hub.done:
			if start != nil {
				return ErrClosed
			}
		}
	}
}

// drain writes all pending events and returns a channel that is closed when there are more.
func (l *Listener) drain(life Life, s sink) (<-chan struct{}, error) {
	for {
		item, wake, err := l.poll()
		switch {
		case err != nil:
			return nil, cmp.Or(s.rest(), err)
		case wake != nil:
			return wake, s.rest()
		}
		if err := life.check(); err != nil {
			return nil, err
		}
		if err := s.send(item); err != nil {
			return nil, err
		}
	}
}
