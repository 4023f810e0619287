// Package script is Salt's engine of that name: it runs a program again and again, and fires the events that it prints
// (salt/engines/script.py).
//
// Each line is a JSON object with tag and data, of at most 64 KiB. Lines that are something else are told in the log and
// skipped, where Salt's engine ends. No shell is involved.
package script

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/output"
)

// maxTags bounds the tags whose last contents are remembered for onchange; events of others are fired each time.
const maxTags = 10000

type script struct {
	host     engines.Host
	cmd      []string
	interval time.Duration
	onChange bool
	last     map[string][32]byte // by tag
	told     bool                // of lines that are no events, in the last run
}

// New makes the engine: cmd is the program, interval the seconds from its end to its next start (1), onchange leaves out an event
// that is like the last one of its tag, and output is json.
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options, "cmd", "output", "interval", "onchange"); err != nil {
		return nil, err
	}
	s := &script{host: h, interval: time.Second, onChange: data.Truth(options.Value("onchange")), last: map[string][32]byte{}}
	if out := options.Value("output"); out != nil && out != "json" {
		return nil, fmt.Errorf("output can be json alone, not %s", data.Repr(out))
	}
	var err error
	if s.cmd, err = engines.Words(options.Value("cmd")); err != nil {
		return nil, fmt.Errorf("cmd: %w", err)
	}
	switch v := options.Value("interval").(type) {
	case nil:
	case int64:
		s.interval = time.Duration(min(max(v, 0), 1e9)) * time.Second
	case float64:
		s.interval = time.Duration(min(max(v, 0), 1e9) * float64(time.Second))
	default:
		return nil, fmt.Errorf("interval: expected seconds, not %s", data.Repr(v))
	}
	s.interval = max(s.interval, 10*time.Millisecond)
	return s.run, nil
}

func (s *script) run(ctx context.Context) error {
	for {
		err := s.once(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.host.Log.WithError(err).Errorf("engine %s", s.host.Name)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.interval):
		}
	}
}

// once runs the program. Of lines that cannot be used the first is told, unless those of the last run were, and the number
// of all.
func (s *script) once(ctx context.Context) error {
	faults := 0
	err := daemon.Command{Name: s.host.Name, Argv: s.cmd, Out: func(line []byte) {
		if err := s.take(line); err != nil {
			if faults++; faults == 1 && !s.told {
				s.host.Log.WithError(err).Warnf("engine %s: line %.100q", s.host.Name, line)
			}
		}
	}}.Run(ctx, s.host.Log)
	if faults > 1 && !s.told {
		s.host.Log.Warnf("engine %s: %d lines could not be used", s.host.Name, faults)
	}
	s.told = faults > 0
	return err
}

func (s *script) take(line []byte) error {
	event, ok, err := engines.ParseLine(line)
	if err != nil || !ok || s.onChange && !s.changed(event) {
		return err
	}
	return s.host.Fire(event)
}

// changed reports whether an event differs from the last one of its tag.
func (s *script) changed(e engines.Event) bool {
	text, err := output.JSON(e.Data)
	if err != nil {
		return true
	}
	sum := sha256.Sum256([]byte(text))
	last, known := s.last[e.Tag]
	if known && last == sum {
		return false
	}
	if known || len(s.last) < maxTags {
		s.last[e.Tag] = sum
	}
	return true
}
