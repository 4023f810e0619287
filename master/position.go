package master

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/cluster"
	"github.com/brineproject/brine/internal/atomicfile"
)

// A position is how far this member has carried out a stream of the cluster: everything up to a
// sequence. The file may be behind by a second, so that a few entries are carried out again after a
// crash; entries are such that this changes nothing.
type position struct {
	file string

	mu      sync.Mutex
	at      uint64          // everything up to it is done
	done    map[uint64]bool // what is done after it
	changed chan struct{}   // closed when at changes
	token   uint64          // of the latest lead up to at
	stream  string          // identity of the stream, "" if it is not known
	former  map[string]bool // identities of streams that NATS has lost, as far as this member knows
	written string          // content of the file

	// keys names the cluster keys of this member; unread is the sequence of the first entry that is
	// sealed with another one, 0 if there is none.
	keys   string
	unread uint64
}

// A streamView is a stream as a member sees it at its start.
type streamView struct {
	identity string
	first    uint64 // the oldest entry
	keys     string // the cluster keys of the member
}

// openPosition reads a position in a stream. One that was never written, that is damaged, or that is of
// another stream is 0; the latter two are logged. With other cluster keys than before, the position is before
// the first entry that could not be read, if the stream still has that.
func openPosition(file string, view streamView, log logrus.FieldLogger) (*position, error) {
	p := &position{file: file, done: map[uint64]bool{}, changed: make(chan struct{}), stream: view.identity,
		former: map[string]bool{}, keys: view.keys}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read how far the cluster's stream was carried out: %w", err)
	}
	var at, token, unread uint64
	var of, had string
	if n, err := fmt.Sscan(string(text), &at, &token, &of, &unread, &had); n < 3 {
		log.WithError(err).Warnf("%s is damaged: what the cluster still has is carried out again", file)
		return p, nil
	}
	if of != view.identity {
		p.former[of] = true
		log.Warnf("NATS has lost the data of the cluster since this master stopped, or was replaced: %s is of another stream", file)
		return p, nil
	}
	from := max(unread, view.first) // entries before it are gone
	switch {
	case unread == 0 || from > at:
		p.at, p.token = at, token
	case had == view.keys:
		p.at, p.token, p.unread = at, token, unread
	default: // the token of that place is not known; what comes after it tells
		p.at = from - 1
		log.Warnf("This master has other cluster keys than before: from entry %d on the cluster's stream is carried "+
			"out again, since it could not read entry %d", from, unread)
	}
	return p, nil
}

// now returns the sequence up to which everything is done.
func (p *position) now() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

// has reports whether the entry with a sequence is done.
func (p *position) has(sequence uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return sequence <= p.at || p.done[sequence]
}

// reset moves the position, because entries are gone or the stream is a new one.
func (p *position) reset(to uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.done)
	p.move(to)
}

// renew moves the position to the beginning of a new stream.
func (p *position) renew(stream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.done)
	if p.stream != "" {
		p.former[p.stream] = true
	}
	delete(p.former, stream)
	p.token, p.stream, p.unread = 0, stream, 0
	p.move(0)
}

// identity returns the identity of the stream, "" if it is not known.
func (p *position) identity() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stream
}

// lost notes that NATS has lost a stream.
func (p *position) lost(stream string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.former[stream] = true
}

// isFormer reports whether a stream is one that NATS has lost, as far as this member knows.
func (p *position) isFormer(stream string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.former[stream]
}

// A beginning tells the sequence of the oldest entry that a stream has, or of the next one if it has
// none.
type beginning interface {
	First(ctx context.Context) (uint64, error)
}

// beginAt moves a position that is 0 before the oldest entry of a stream, which may have lost others.
func (p *position) beginAt(ctx context.Context, stream beginning) error {
	if p.now() > 0 {
		return nil
	}
	first, err := stream.First(ctx)
	if err != nil {
		return err
	}
	p.reset(first - 1)
	return nil
}

// following is what a member does with a stream.
type following struct {
	read   func(after uint64) error // until the stream fails or ctx ends
	missed func(error)              // entries are gone that were not read; the rest follows
	anew   func(error) error        // NATS has lost the stream, and there is another one
}

// follow reads a stream from the position on until ctx ends, or reading fails for good.
func (p *position) follow(ctx context.Context, stream beginning, f following) error {
	for {
		if err := p.beginAt(ctx, stream); err != nil {
			return err
		}
		err := f.read(p.now())
		var gap *cluster.Gap
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &gap):
			f.missed(err)
			p.reset(gap.Last)
		case errors.Is(err, cluster.ErrRestarted):
			if err := f.anew(err); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// finish notes that the entry with a sequence is done.
func (p *position) finish(sequence uint64) { p.finishUnder(sequence, 0) }

// leaveOut notes that the entry with a sequence is sealed with a cluster key that this member lacks. The
// position passes it.
func (p *position) leaveOut(sequence uint64) {
	p.mu.Lock()
	if p.unread == 0 || sequence < p.unread {
		p.unread = sequence
	}
	p.mu.Unlock()
	p.finish(sequence)
}

// finishUnder notes that the entry with a sequence is done, and the token of the latest lead so far.
func (p *position) finishUnder(sequence, token uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.token = max(p.token, token)
	if sequence <= p.at {
		return
	}
	p.done[sequence] = true
	to := p.at
	for p.done[to+1] {
		to++
		delete(p.done, to)
	}
	if to != p.at {
		p.move(to)
	}
}

func (p *position) move(to uint64) {
	p.at = to
	close(p.changed)
	p.changed = make(chan struct{})
}

// await waits until everything up to a sequence is done.
func (p *position) await(ctx context.Context, sequence uint64) error {
	for {
		p.mu.Lock()
		at, changed := p.at, p.changed
		p.mu.Unlock()
		if at >= sequence {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// save writes the file if the position has changed.
func (p *position) save() error {
	p.mu.Lock()
	is := fmt.Sprintln(p.at, p.token, p.stream)
	if p.unread > 0 {
		is = fmt.Sprintln(p.at, p.token, p.stream, p.unread, p.keys)
	}
	p.mu.Unlock()
	if is == p.written {
		return nil
	}
	if err := atomicfile.Write(p.file, []byte(is), atomicfile.Options{Mode: 0o600}); err != nil {
		return fmt.Errorf("note how far the cluster's stream is carried out: %w", err)
	}
	p.written = is
	return nil
}

// saveAlways calls save each second until ctx ends, and once more then.
func (p *position) saveAlways(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		if err := p.save(); err != nil {
			failed(err)
		}
	}
}
