package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/output"
	"github.com/brineproject/brine/runner"
)

type eventArgs struct {
	Tagmatch string `default:"'*'"`
	Count    int    `default:"-1"`
	Quiet    bool   `default:"False"`
	SockDir  any    `default:"None"`
	Pretty   bool   `default:"False"`
	Node     string `default:"'master'"`
}

// event prints events as they come: the tag, a tab and the contents as JSON. It ends after count of them, and with Ctrl-C.
//
// tagmatch
//
//	A glob or a regular expression for the tag.
//
// count
//
//	After how many events it ends; -1 never.
//
// quiet
//
//	True prints nothing and only waits.
//
// sock_dir
//
//	The folder with the sockets of the bus, in place of the option of that name.
//
// pretty
//
//	True prints the contents on several lines.
//
// node
//
//	minion watches the bus of the minion on this host, whose id is that of the options.
//
// CLI Example:
//
//	salt-run state.event pretty=True
//	salt-run state.event 'salt/minion/jerry/start' count=1 quiet=True
func (m *module) event(ctx context.Context, a eventArgs) (any, error) {
	dir, _ := a.SockDir.(string)
	sockets, err := eventbus.NodeSockets(a.Node, m.env.Opts, dir)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	bus := eventbus.NewWatcher(sockets, eventbus.ClientOptions{})
	return nil, errors.Join(m.watch(ctx, a, bus), bus.Close())
}

// watch prints the events that are asked for.
func (m *module) watch(ctx context.Context, a eventArgs, bus *eventbus.Watcher) error {
	fits, own := matcher(a.Tagmatch), runner.RunOf(ctx).Tag+"/new" // its own beginning may be on its way still
	for {
		e, err := bus.Next(ctx)
		if err != nil {
			return err
		}
		if !fits(e.Tag) || e.Tag == own {
			m.env.Log.Debugf("Skipping event tag: %s", e.Tag)
			continue
		}
		if err := show(ctx, a, e); err != nil {
			return err
		}
		if a.Count > 0 {
			a.Count--
			m.env.Log.Debugf("Remaining event matches: %d", a.Count)
		}
		if a.Count == 0 {
			return nil
		}
	}
}

// show prints an event.
func show(ctx context.Context, a eventArgs, e eventbus.Event) error {
	if a.Quiet {
		return nil
	}
	body, err := e.Map()
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Tag, err)
	}
	text, err := asJSON(body, a.Pretty)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Tag, err)
	}
	runner.RunOf(ctx).Printf("%s\t%s\n", e.Tag, text)
	return nil
}

func asJSON(body *data.Map, pretty bool) (string, error) {
	if !pretty {
		return output.JSON(body)
	}
	o, err := output.New("json", output.Options{Indent: "pretty"})
	if err != nil {
		return "", err
	}
	return o.Format(body)
}

// matcher reads a glob or a regular expression (salt/utils/stringutils.py, expr_match).
func matcher(expr string) func(tag string) bool {
	glob := match.CompileGlob(expr)
	re, err := match.CompileRegexp(`\A(?:` + expr + `)\Z`)
	return func(tag string) bool { return glob.Match(tag) || err == nil && re.Match(tag) }
}
