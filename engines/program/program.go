// Package program is an engine that only Brine has: a program in any language that speaks JSON
// lines. It gets events on its standard input, one {"tag": …, "data": …} per line, and the lines of
// the same form that it prints are fired as events.
//
//	engines:
//	  - program:
//	      cmd: [/usr/local/bin/feeder, -v]
//	      tags: ['salt/job/*/ret/*']
//
// It runs as long as the daemon and is restarted when it ends. Events that arrive meanwhile, or
// faster than it reads them, are queued up to a limit. Events beyond the limit are lost, which is
// logged, and so are events that the program had not read when it ended. Lines that it prints may
// have up to 64 KiB; lines that are not events are logged.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/output"
)

type program struct {
	host   engines.Host
	cmd    daemon.Command
	globs  []*match.Glob
	events *eventbus.Subscription // kept across restarts of the program
}

// New makes the engine. The option cmd is the program, a text or a list of words; cwd is its
// directory, env a map of variables, and tags the globs of the events that it gets, none by
// default.
func New(h engines.Host, options *data.Map) (func(context.Context) error, error) {
	if err := engines.Only(options, "cmd", "cwd", "env", "tags"); err != nil {
		return nil, err
	}
	p := &program{host: h}
	words, err := engines.Words(options.Value("cmd"))
	if err != nil {
		return nil, fmt.Errorf("cmd: %w", err)
	}
	tags, ok := options.Value("tags").([]any)
	if !ok && options.Value("tags") != nil {
		return nil, errors.New("tags: expected a list of globs")
	}
	for _, tag := range tags {
		p.globs = append(p.globs, match.CompileGlob(data.Str(tag)))
	}
	env, ok := options.Value("env").(*data.Map)
	if !ok && options.Value("env") != nil {
		return nil, errors.New("env: expected a mapping of names to values")
	}
	p.cmd = daemon.Command{Name: h.Name, Argv: words, Dir: options.Text("cwd")}
	for name, value := range env.All() {
		p.cmd.Env = append(p.cmd.Env, data.Str(name)+"="+data.Str(value))
	}
	if len(p.globs) > 0 {
		p.events = h.Bus.Subscribe(eventbus.SubscribeOptions{Name: "engine " + h.Name,
			Match: p.wants})
		p.cmd.In = p.write
	}
	return p.run, nil
}

func (p *program) run(ctx context.Context) error {
	cmd := p.cmd
	cmd.Out = func(line []byte) { p.fireLine(ctx, line) }
	err := cmd.Run(ctx, p.host.Log)
	if ctx.Err() != nil && p.events != nil {
		p.events.Close()
	}
	if err == nil {
		err = errors.New("the program has ended, but should keep running")
	}
	return err
}

func (p *program) wants(tag string) bool {
	for _, g := range p.globs {
		if g.Match(tag) {
			return true
		}
	}
	return false
}

// write sends events to the program. It always returns an error, so that the input stays open until
// the program ends.
func (p *program) write(ctx context.Context, w io.Writer) error {
	for event := range p.events.All(ctx) {
		body, err := event.Map()
		if err != nil {
			continue
		}
		line, err := output.JSON(data.NewMap("tag", event.Tag, "data", body))
		if err != nil {
			p.host.Log.WithError(err).Warnf("engine %s: event %q could not be written",
				p.host.Name, event.Tag)
			continue
		}
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// fireLine fires the event that a line contains; other lines are logged.
func (p *program) fireLine(ctx context.Context, line []byte) {
	event, ok, err := engines.ParseLine(line)
	if err == nil && ok {
		err = p.host.Fire(ctx, event)
	}
	if err != nil || !ok {
		p.host.Log.Infof("%s: %s", p.host.Name, line)
	}
}
