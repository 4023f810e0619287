// Package saltapi is the program salt-api: the HTTP API of a master (salt/cli/api.py,
// salt/client/netapi.py).
//
// It runs on the master's host as the master's user, reads the master's configuration and gives the
// orders of its clients to the master, Brine's or Salt's, as the program salt does. Its ports are the
// doors of package netapi: the sections rest_cherrypy and rest_tornado.
package saltapi

import (
	"context"
	"io"
	"net/http"

	"github.com/brineproject/brine/cli"
	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/netapi"
)

// Options are the parts that package main brings.
type Options struct {
	// Connect makes what answers requests. It is called once, after the program has become the
	// master's user.
	Connect func(Site) (Doors, error)
}

// A Site is what doors need of the master's host.
type Site struct {
	Config   *config.Master
	Opts     *data.Map // all options, including the command line's
	Settings *netapi.Settings
	Sockets  eventbus.Sockets // of the master's event bus
	Events   *eventbus.Share  // connection to the bus for all that read it
	Log      *logging.Log
}

// An Open makes the handler of one door.
type Open func(gate *netapi.Gate, door *netapi.Door) (http.Handler, error)

// An OpenConsole makes the handler of the console beside a door. api is the gate of the door.
type OpenConsole func(gate, api *netapi.Gate, door *netapi.Door) (http.Handler, error)

// Doors are the handlers, and what must run for them.
type Doors struct {
	Cherrypy, Tornado Open          // nil: this program has no such door
	Console           OpenConsole   // the web page for people, below /console of the first door
	Parts             []daemon.Part // started before the doors and stopped after them, as an event hub
}

// Run runs the program until ctx or a signal ends it, and returns its exit code.
func Run(ctx context.Context, in cli.Invocation, stdout, stderr io.Writer, o Options) int {
	line, err := cli.ParseAPI(in)
	if err != nil {
		return cli.PrintError(err, stdout, stderr)
	}
	cli.Preface(line.Line, stderr)
	p, err := newProgram(in, line, o)
	if err != nil {
		return cli.Refuse("salt-api", line.Line, err, stderr)
	}
	return p.daemon.Serve(ctx, in, stdout, stderr)
}
