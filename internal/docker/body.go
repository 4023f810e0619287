package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// whole reads all of a body that may have limit bytes.
func whole(r io.Reader, limit int64) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return "", err
	}
	if int64(len(text)) > limit {
		return "", fmt.Errorf("it has more than %d bytes", limit)
	}
	return string(text), nil
}

var errSilent = errors.New("the engine sends nothing")

// A patience ends a request when the engine neither sends nor takes a byte for too long.
type patience struct {
	limit  time.Duration
	timer  *time.Timer
	cancel context.CancelFunc
	over   atomic.Bool
	ended  atomic.Bool
}

// patience returns a context for a request, which ends if the engine is silent for too long.
func (c *Client) patience(ctx context.Context, r Request) (context.Context, *patience) {
	ctx, cancel := context.WithCancel(ctx)
	p := &patience{cancel: cancel}
	if c.timeout > 0 && !r.Endless {
		p.limit = max(c.timeout+r.Patient, r.Silence)
		p.timer = time.AfterFunc(p.limit, func() { p.over.Store(true); cancel() })
	}
	return ctx, p
}

// heard starts the wait anew.
func (p *patience) heard() {
	if p.timer != nil && !p.over.Load() && !p.ended.Load() {
		p.timer.Reset(p.limit)
	}
}

func (p *patience) end() {
	p.ended.Store(true)
	if p.timer != nil {
		p.timer.Stop()
	}
	p.cancel()
}

// explain returns the reason of an error of the connection.
func (p *patience) explain(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && p.over.Load() {
		return fmt.Errorf("%w for %s", errSilent, p.limit)
	}
	return err
}

// A patientReader is the body of a request. The engine is not silent while it takes one.
type patientReader struct {
	io.Reader
	wait *patience
}

func (r *patientReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.wait.heard()
	return n, err
}

// A patientBody is the body of an answer whose reads the patience guards.
type patientBody struct {
	io.ReadCloser
	wait *patience
}

func (b *patientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.wait.heard()
	return n, b.wait.explain(err)
}

func (b *patientBody) Close() error {
	b.wait.end()
	return b.ReadCloser.Close()
}
