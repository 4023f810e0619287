// Package stream gives the events of a master's bus to many HTTP clients.
//
// A Hub subscribes to the bus once, whatever the number of clients, and keeps the last events in a
// ring. A Listener is one client's position in that ring; ServeSSE and ServeWebSocket write what it
// returns in the forms of salt-api. An event is decoded and encoded when the first client needs it,
// and all clients share the bytes.
//
//	hub := stream.New(stream.Options{Dial: dial, Log: log})
//	go hub.Run(ctx)
//
//	l, err := hub.Listen(stream.Filter{User: user, After: r.Header.Get("Last-Event-ID")})
//	if err != nil {
//		return err // a *LimitError: answer 429 or 503
//	}
//	defer l.Close()
//	err = stream.ServeSSE(w, r, l, stream.SSEOptions{Life: stream.Life{Until: token.Expire}})
//
// A client that reads too slowly is disconnected after one write timeout. A client that falls behind
// the ring, or that resumes from a position the ring no longer has, gets one event with the tag
// LostTag, which says how many events it missed.
package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/clock"
)

// ErrClosed is returned to listeners after Run has ended and they have read the last event.
var ErrClosed = errors.New("event hub is closed")

// A LimitError reports that a user, or all users together, have too many listeners.
type LimitError struct {
	User string // "" if the limit for all users was reached
	Max  int
}

// Error returns the text.
func (e *LimitError) Error() string {
	if e.User == "" {
		return fmt.Sprintf("listen to events: %d listeners are connected, which is the limit", e.Max)
	}
	return fmt.Sprintf("listen to events: user %q has %d listeners, which is the limit", e.User, e.Max)
}

// A Source returns the events of a bus; an *eventbus.Client is one. Any error of Next means that the
// connection is lost.
type Source interface {
	Next(ctx context.Context) (eventbus.Event, error)
	Close() error
}

// A leakySource is a Source that drops events while its reader is too slow. Dropped returns how many.
type leakySource interface{ Dropped() uint64 }

var (
	_ Source      = (*eventbus.Client)(nil)
	_ leakySource = (*eventbus.SharedReader)(nil)
)

// Options configure a Hub.
type Options struct {
	// connects to the bus; called again each time the connection is lost
	Dial func(ctx context.Context) (Source, error)

	MaxEvents    int // events kept; 0 means 4096
	MaxBytes     int // size of the events kept and their JSON; 0 means 32 MiB. The newest always stays
	MaxListeners int // 0 means 1000
	MaxPerUser   int // listeners with the same Filter.User, unless it is ""; 0 means 50
	StateBytes   int // size of what all websockets with FormatEvents keep; 0 means 32 MiB

	Log logrus.FieldLogger // nil means no log
}

// Pauses between attempts to connect to the bus.
const (
	minPause = 250 * time.Millisecond
	maxPause = 10 * time.Second
)

// A Hub distributes the events of one bus. It is safe for concurrent use.
type Hub struct {
	dial      func(ctx context.Context) (Source, error)
	listeners int // limit
	perUser   int // limit
	log       logrus.FieldLogger
	run       string        // names this run in positions
	done      chan struct{} // closed when Run has ended
	states    *budget
	owners    *owners
	batches   sync.Pool // of *[]byte, for what is written next

	mu    sync.RWMutex
	ring  ring
	wake  chan struct{} // closed at the next event
	count int
	users map[string]int // listeners by user
}

// New returns a Hub, which does nothing until Run is called.
func New(o Options) *Hub {
	h := &Hub{
		dial:      o.Dial,
		listeners: cmp.Or(o.MaxListeners, 1000),
		perUser:   cmp.Or(o.MaxPerUser, 50),
		log:       o.Log,
		run:       strconv.FormatInt(time.Now().UnixNano(), 16),
		done:      make(chan struct{}),
		wake:      make(chan struct{}),
		ring:      newRing(cmp.Or(o.MaxEvents, 4096), cmp.Or(o.MaxBytes, 32<<20)),
		users:     map[string]int{},
		owners:    newOwners(),
		states:    newBudget(cmp.Or(o.StateBytes, 32<<20)),
	}
	if h.log == nil {
		quiet := logrus.New()
		quiet.SetOutput(io.Discard)
		h.log = quiet
	}
	return h
}

// Run reads the bus until ctx ends, and then returns nil. It reconnects with growing pauses when the
// bus is lost. When it returns, listeners read what is left and get ErrClosed. It may be called once.
func (h *Hub) Run(ctx context.Context) error {
	defer close(h.done)
	var (
		pause   = minPause
		outage  bool // the failure is logged
		before  bool // there was a connection before
		started time.Time
	)
	for {
		started = time.Now()
		bus, err := h.dial(ctx)
		if err == nil {
			h.connected(before, outage)
			outage, before = false, true
			err = h.read(ctx, bus)
		}
		if ctx.Err() != nil {
			return nil
		}
		if !outage {
			h.log.WithError(err).Warn("no connection to the master's event bus, trying again")
			outage = true
		}
		if time.Since(started) > maxPause {
			pause = minPause
		}
		if clock.Sleep(ctx, pause) != nil {
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}

// connected logs the end of an outage and marks the gap in the stream. before says whether the hub
// was connected earlier, so that listeners may have missed events.
func (h *Hub) connected(before, outage bool) {
	if outage {
		h.log.Info("connected to the master's event bus")
	}
	if before {
		h.add(newNotice(h, Lost{Reason: LostBus}))
	}
}

// read adds events to the ring until the connection is lost.
func (h *Hub) read(ctx context.Context, bus Source) error {
	defer bus.Close() //nolint:errcheck // it is lost, or the hub stops
	leaky, _ := bus.(leakySource)
	for told := uint64(0); ; {
		e, err := bus.Next(ctx)
		if err != nil {
			return err
		}
		h.take(e)
		if leaky == nil {
			continue
		}
		if n := leaky.Dropped(); n > told {
			h.add(newNotice(h, Lost{Events: n - told, Reason: LostBus}))
			told = n
		}
	}
}

// take adds an event of the bus.
func (h *Hub) take(e eventbus.Event) {
	h.owners.note(e)
	h.add(newEntry(h, e))
}

// Owns reports whether an event with a tag belongs to a job that a user has ordered, for Filter.May. It
// knows the latest jobs since the hub has run.
func (h *Hub) Owns(user, tag string) bool { return h.owners.owns(user, tag) }

// add appends an entry to the ring and wakes the listeners.
func (h *Hub) add(e *entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring.add(e)
	close(h.wake)
	h.wake = make(chan struct{})
}

// enter counts a new listener of user.
func (h *Hub) enter(user string) error {
	if h.count >= h.listeners {
		return &LimitError{Max: h.listeners}
	}
	if user != "" && h.users[user] >= h.perUser {
		return &LimitError{User: user, Max: h.perUser}
	}
	h.count++
	h.users[user]++
	return nil
}

// leave reverts enter.
func (h *Hub) leave(user string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count--
	if h.users[user]--; h.users[user] == 0 {
		delete(h.users, user)
	}
}

// takeBatch returns an empty buffer, which giveBatch takes back.
func (h *Hub) takeBatch() *[]byte {
	if b, ok := h.batches.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

// giveBatch keeps a buffer for the next stream.
func (h *Hub) giveBatch(b *[]byte) {
	*b = (*b)[:0]
	h.batches.Put(b)
}

// Listeners returns the number of listeners.
func (h *Hub) Listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}
