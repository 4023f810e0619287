package transport

import (
	"context"
	"errors"
	"net"
	"time"
)

// A Keeper keeps a client connection up: it dials, runs a session and, when that ends, dials again.
type Keeper struct {
	Dialer Dialer
	// Wanted is called before each attempt but the first. It waits until a connection is needed,
	// and returns false if ctx ends. nil means that one is always needed.
	Wanted func(ctx context.Context) bool
	// Hurry ends the pause before the next attempt; may be nil.
	Hurry Haste

	told bool // the lack of a connection was reported
}

// Run runs sessions until ctx ends. A session ends with its connection, which is then closed, and
// when ctx ends.
func (k *Keeper) Run(ctx context.Context, session func(context.Context, net.Conn) error) {
	pauses := k.Dialer.Backoff()
	for ctx.Err() == nil {
		begun := time.Now()
		k.tell(k.once(ctx, session))
		if time.Since(begun) > pauses.Longest() {
			pauses.Reset()
		}
		if !pauses.Wait(ctx, k.Hurry) || k.Wanted != nil && !k.Wanted(ctx) {
			return
		}
	}
}

func (k *Keeper) once(ctx context.Context, session func(context.Context, net.Conn) error) error {
	conn, err := k.Dialer.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	return session(ctx, conn)
}

// Up reports that the connection is established. The session calls it.
func (k *Keeper) Up() {
	k.told = false
	if k.Dialer.OnState != nil {
		k.Dialer.OnState(true, nil)
	}
}

// tell reports why there is no connection, once in a row.
func (k *Keeper) tell(err error) {
	if errors.Is(err, context.Canceled) {
		err = ErrClosed
	}
	if k.Dialer.Log != nil {
		k.Dialer.Log.WithError(err).Debugf("no connection to %s", k.Dialer.Addr)
	}
	if k.told {
		return
	}
	k.told = true
	if k.Dialer.OnState != nil {
		k.Dialer.OnState(false, err)
	}
}
