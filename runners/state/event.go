package state

import (
	"context"
	"errors"

	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/runners"
)

type eventArgs struct {
	Tagmatch string `default:"'*'"`
	Count    int    `default:"-1"`
	Quiet    bool   `default:"False"`
	SockDir  any    `default:"None"`
	Pretty   bool   `default:"False"`
	Node     string `default:"'master'"`
}

// event prints events as they arrive: the tag, a tab and the contents as JSON. It ends after count
// events, or with Ctrl-C.
//
// tagmatch
//
//	A glob or a regular expression for the tag.
//
// count
//
//	The number of events after which it ends; -1 means never.
//
// quiet
//
//	True prints nothing and only waits.
//
// sock_dir
//
//	The directory of the bus sockets, instead of the option of that name.
//
// pretty
//
//	True prints the contents on several lines.
//
// node
//
//	minion watches the bus of the minion on this host with the id in the options.
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
	run := runners.RunOf(ctx)
	show := eventbus.Show{Match: a.Tagmatch, Count: a.Count, Quiet: a.Quiet, Pretty: a.Pretty,
		Log:  m.env.Log,
		Skip: run.Tag + "/new", Print: run.Printf} // its own event may still arrive
	bus := eventbus.NewWatcher(sockets, eventbus.ClientOptions{})
	return nil, errors.Join(show.Run(ctx, bus), bus.Close())
}
