package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/loader"
)

type eventArgs struct {
	Tagmatch string `default:"'*'"`
	Count    int    `default:"-1"`
	Quiet    bool   `default:"False"`
	SockDir  any    `default:"None"`
	Pretty   bool   `default:"False"`
	Node     string `default:"'minion'"`
}

// event prints events to the standard output as they arrive: the tag, a tab and the data as JSON.
// It is meant for salt-call. It ends after count events, or with Ctrl-C.
//
// tagmatch
//
//	A glob or a regular expression for the tag.
//
// count
//
//	The number of events after which it ends; -1 for no end.
//
// quiet
//
//	True prints nothing and only waits.
//
// sock_dir
//
//	The directory with the sockets of the bus. Default: the option sock_dir.
//
// pretty
//
//	True prints the data on several lines.
//
// node
//
//	master watches the bus of the master on this host.
//
// CLI Example:
//
//	salt-call --local state.event pretty=True
func (m *module) event(ctx context.Context, a eventArgs) (any, error) {
	dir, _ := a.SockDir.(string)
	sockets, err := eventbus.NodeSockets(a.Node, m.env.Opts, dir)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	show := eventbus.Show{Match: a.Tagmatch, Count: a.Count, Quiet: a.Quiet, Pretty: a.Pretty,
		Log:   m.env.Log,
		Print: func(format string, args ...any) { fmt.Printf(format, args...) }}
	bus := eventbus.NewWatcher(sockets, eventbus.ClientOptions{})
	return nil, errors.Join(show.Run(ctx, bus), bus.Close())
}
