package swarm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/clock"
)

// Pauses before a return is sent again. They double, and are random.
const (
	minResend = 200 * time.Millisecond
	maxResend = 10 * time.Second
)

// errDropped is the error of a return that the master has read and does not want.
var errDropped = errors.New("the master has dropped the return")

// deliver sends a return until a master acknowledges it: the master that the job came from, and then
// each other that is up, in turn.
func (m *minion) deliver(ctx context.Context, from *link, jid string, load *data.Map) {
	first := 0
	for i, l := range m.links {
		if l == from {
			first = i
		}
	}
	for round := 0; ctx.Err() == nil; round++ {
		for i := range m.links {
			l := m.links[(first+i)%len(m.links)]
			if !l.gate.isOpen() {
				continue
			}
			if round+i > 0 {
				m.swarm.Stats.Resent.Add(1)
			}
			switch master, err := l.send(ctx, load); {
			case err == nil:
				if o := m.swarm.opts.Observer; o != nil {
					o.Acknowledged(m.id, jid, master)
				}
				m.swarm.Stats.Returned.Add(1)
				return
			case errors.Is(err, errDropped):
				m.failed(ctx, err)
				return
			default:
				m.failed(ctx, err)
				l.ask()
			}
		}
		longest := min(minResend<<min(round, 10), maxResend)
		_ = clock.Sleep(ctx, longest/2+rand.N(longest/2)) // the loop looks at ctx
	}
}

// send sends a return over the link and returns the master that has acknowledged it.
func (l *link) send(ctx context.Context, load *data.Map) (master string, err error) {
	master = l.address()
	reply, err := l.client.Call(ctx, load)
	switch {
	case err != nil:
		return "", fmt.Errorf("return to master %s: %w", master, err)
	case reply == nil || reply == true:
		return master, nil
	case reply == false:
		return "", fmt.Errorf("return to master %s: %w", master, errDropped)
	}
	return "", fmt.Errorf("return to master %s: its reply is %s", master, data.Repr(reply))
}
