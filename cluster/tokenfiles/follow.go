package tokenfiles

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/internal/clock"
)

// streamKey is the key of a random mark, by which a new stream is recognized.
const streamKey = "stream"

// errOther says that the shelf has another mark than before.
var errOther = errors.New("the shelf is another one")

// An event is what follow tells.
type event struct {
	kind  eventKind
	value cluster.Value
}

type eventKind int

const (
	valueChanged eventKind = iota
	shelfRead              // all is told that the shelf had
	shelfAnew              // what was told before does not count
)

// An inbox keeps events until they are taken. It is safe for concurrent use.
type inbox struct {
	mu     sync.Mutex
	events []event
	wake   chan struct{}
}

func (b *inbox) add(e event) {
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *inbox) take() []event {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.events
	b.events = nil
	return all
}

// follow tells what the shelf has and all changes until ctx ends, which is no error.
func (f *Files) follow(ctx context.Context) error {
	for {
		mark, err := f.shared.Identify(ctx, streamKey)
		if err == nil {
			f.inbox.add(event{kind: shelfAnew})
			err = f.followStream(ctx, mark)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, cluster.ErrRestarted), errors.Is(err, errOther):
			f.o.Log.WithError(err).Warn("the tokens of the cluster are read anew")
		case err == nil:
			return errors.New("follow the shelf of tokens: it has ended")
		default:
			return fmt.Errorf("follow the shelf of tokens: %w", err)
		}
	}
}

func (f *Files) followStream(ctx context.Context, mark string) error {
	following, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var watching sync.WaitGroup
	watching.Go(func() { f.watch(following, mark, stop) })
	read := func() { f.inbox.add(event{kind: shelfRead}) }
	err := f.shared.Follow(following, 0, read, func(v cluster.Value) error {
		if v.Key != streamKey {
			f.inbox.add(event{value: v})
		} else if string(v.Body) != mark {
			return errOther
		}
		return nil
	})
	if err == nil {
		err = context.Cause(following)
	}
	stop(nil)
	watching.Wait()
	return err
}

// watch looks from time to time whether the shelf is still the one with a mark. A new one that has
// more entries than the old one had would not show otherwise.
func (f *Files) watch(ctx context.Context, mark string, stop context.CancelCauseFunc) {
	for clock.Sleep(ctx, f.full) == nil {
		body, _, err := f.shared.Get(ctx, streamKey)
		read := err == nil || errors.Is(err, cluster.ErrSealed) || errors.Is(err, cluster.ErrUnknownKey)
		if ctx.Err() == nil && read && string(body) != mark {
			stop(errOther)
			return
		}
	}
}
