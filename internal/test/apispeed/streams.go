package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
)

// tagBegin begins the tags of the events that count; the rest is the number of the event, from 0.
const tagBegin = "salt/apispeed/"

// patience is how long streams may take to deliver after the last event.
const patience = 60 * time.Second

// events opens streams, fires events at a steady rate and checks that each stream gets each of them,
// once and in order.
func (p *plan) events(ctx context.Context, a *api, sockDir string) ([]figure, error) {
	bus, err := eventbus.Dial(ctx, eventbus.MasterSockets(sockDir), eventbus.ClientOptions{FireOnly: true})
	if err != nil {
		return nil, fmt.Errorf("reach the bus of the master: %w", err)
	}
	defer bus.Close()
	ctx, cancel := context.WithTimeout(ctx, startTime+p.length+patience)
	defer cancel()
	readers := make([]*reader, p.streams)
	defer func() {
		for _, r := range readers {
			r.close()
		}
	}()
	for i := range readers {
		if readers[i], err = a.listen(ctx); err != nil {
			return nil, err
		}
	}
	count := int(p.length.Seconds() * float64(p.rate))
	warm := make(chan struct{})
	var left atomic.Int64
	left.Store(int64(p.streams))
	done := make(chan error, 1)
	go func() {
		done <- together(p.streams, func(i int) error {
			return readers[i].read(count, func() {
				if left.Add(-1) == 0 {
					close(warm)
				}
			})
		})
	}()
	if err := p.warm(ctx, bus, warm); err != nil {
		return nil, err
	}
	used, err := cpu(a.pid())
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := p.fire(ctx, bus, count); err != nil {
		return nil, err
	}
	fired := time.Since(began)
	if err := <-done; err != nil {
		return nil, err
	}
	late := time.Since(began) - fired
	now, err := cpu(a.pid())
	if err != nil {
		return nil, err
	}
	most, err := peak(a.pid())
	name := fmt.Sprintf("%d streams, %d events", p.streams, count)
	return []figure{
		{name + ", delivered per CPU s", float64(count*p.streams) / (now - used).Seconds(), higher},
		{name + ", CPU s", (now - used).Seconds(), lower},
		{name + ", fired per s", float64(count) / fired.Seconds(), higher},
		{name + ", s until all have the last", late.Seconds(), lower},
		{name + ", peak RSS of the first process, KiB", float64(most), lower},
	}, err
}

// warm fires events until each stream has got one: only then is it sure to be subscribed.
func (p *plan) warm(ctx context.Context, bus *eventbus.Client, warm <-chan struct{}) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := bus.Fire(ctx, tagBegin+"warm", data.NewMap()); err != nil {
			return err
		}
		select {
		case <-warm:
			return nil
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the streams: %w", ctx.Err())
		}
	}
}

// fire fires events as minions' returns have them, at the rate of the plan.
func (p *plan) fire(ctx context.Context, bus *eventbus.Client, count int) error {
	began := time.Now()
	for i := range count {
		if wait := time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(p.rate))); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return ctx.Err()
			}
		}
		body := data.NewMap("cmd", "_return", "id", "web1", "success", true, "return", true, "retcode", int64(0),
			"jid", "20260102030405000006", "fun", "test.ping", "fun_args", []any{}, "user", "root")
		if err := bus.Fire(ctx, tagBegin+strconv.Itoa(i), body); err != nil {
			return fmt.Errorf("fire event %d: %w", i, err)
		}
	}
	return nil
}

// A reader reads one event stream.
type reader struct{ body io.ReadCloser }

// listen opens a stream.
func (a *api) listen(ctx context.Context) (*reader, error) {
	answer, err := a.open(ctx, "GET", "/events", nil)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 300))
		return nil, fmt.Errorf("GET /events: %s: %s", answer.Status, text)
	}
	return &reader{answer.Body}, nil
}

func (r *reader) close() {
	if r != nil {
		_ = r.body.Close()
	}
}

// read reads until the stream has brought so many events, and calls warm at the first event before
// them. The error says which event is missing.
func (r *reader) read(count int, warm func()) error {
	begin := []byte("tag: " + tagBegin)
	lines := bufio.NewReaderSize(r.body, 16<<10)
	warmed, next := false, 0
	for next < count {
		line, err := lines.ReadSlice('\n')
		if err == bufio.ErrBufferFull { //nolint:errorlint // ReadSlice returns it as it is
			continue // long data of another event, whose rest is no tag
		}
		if err != nil {
			return fmt.Errorf("read events: event %d of %d has not come: %w", next, count, err)
		}
		if bytes.Equal(line, []byte("tag: brine/stream/lost\n")) {
			why, _ := lines.ReadSlice('\n')
			return fmt.Errorf("read events: after event %d: %s", next-1, why)
		}
		number, ok := bytes.CutPrefix(line, begin)
		if !ok {
			continue
		}
		text := string(bytes.TrimSpace(number))
		switch n, err := strconv.Atoi(text); {
		case text == "warm":
			if !warmed {
				warmed = true
				warm()
			}
		case err != nil || n != next:
			return fmt.Errorf("read events: there is event %q, want %d", text, next)
		default:
			next++
		}
	}
	return nil
}
