// Package script is Salt's engine of that name: it runs a program again and again, and fires the
// events that it prints (salt/engines/script.py).
//
// Each line is a JSON object with tag and data, of at most 64 KiB. Other lines are logged and
// skipped, whereas Salt's engine ends. No shell is involved.
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

// maxTags limits the tags whose last contents are remembered for onchange; events with further tags
// are always fired.
const maxTags = 10000

type script struct {
	host     engines.Host
	cmd      []string
	interval time.Duration
	onChange bool
	last     map[string][32]byte // by tag
	warned   bool                // whether invalid lines were logged in the last run
}

// New makes the engine. The option cmd is the program, interval the seconds from its end to its
// next start (1), onchange skips an event that equals the last one of its tag, and output must be
// json.
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options, "cmd", "output", "interval", "onchange"); err != nil {
		return nil, err
	}
	s := &script{host: h, interval: time.Second, onChange: data.Truth(options.Value("onchange")),
		last: map[string][32]byte{}}
	if out := options.Value("output"); out != nil && out != "json" {
		return nil, fmt.Errorf("output must be json, not %s", data.Repr(out))
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
		err := s.runOnce(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s.host.Log.WithError(err).Errorf("engine %s: run of the script failed", s.host.Name)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.interval):
		}
	}
}

// runOnce runs the program. It logs the first unusable line, unless the last run had some too, and
// the number of all of them.
func (s *script) runOnce(ctx context.Context) error {
	faults := 0
	err := daemon.Command{Name: s.host.Name, Argv: s.cmd, Out: func(line []byte) {
		if err := s.fireLine(ctx, line); err != nil {
			if faults++; faults == 1 && !s.warned {
				s.host.Log.WithError(err).Warnf("engine %s: ignored line %.100q", s.host.Name, line)
			}
		}
	}}.Run(ctx, s.host.Log)
	if faults > 1 && !s.warned {
		s.host.Log.Warnf("engine %s: ignored %d lines", s.host.Name, faults)
	}
	s.warned = faults > 0
	return err
}

func (s *script) fireLine(ctx context.Context, line []byte) error {
	event, ok, err := engines.ParseLine(line)
	if err != nil || !ok || s.onChange && !s.changed(event) {
		return err
	}
	return s.host.Fire(ctx, event)
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
