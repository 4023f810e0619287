package saltapi

import (
	"context"
	"net/http"

	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/cherrypy"
	"github.com/brineproject/brine/netapi/stream"
	"github.com/brineproject/brine/netapi/tornado"
)

// Connect makes the doors of the program salt-api. Both share one reader of the master's events.
func Connect(s Site) (Doors, error) {
	options := eventbus.ClientOptions{MaxEventSize: s.Config.MaxEventSize}
	most, mostPerUser, owners := 0, 0, false
	for _, d := range []*netapi.Door{s.Settings.Cherrypy, s.Settings.Tornado} {
		if d != nil {
			most, mostPerUser = most+d.MaxStreams, mostPerUser+d.MaxStreamsPerUser
			owners = owners || d.OwnEvents
		}
	}
	hub := stream.New(stream.Options{MaxListeners: most, MaxPerUser: mostPerUser, Owners: owners, Log: s.Log,
		Dial: func(ctx context.Context) (stream.Source, error) { return eventbus.Dial(ctx, s.Sockets, options) }})
	bus := netapi.NewBus(s.Sockets, options)
	return Doors{
		Cherrypy: func(gate *netapi.Gate, door *netapi.Door) (http.Handler, error) {
			return cherrypy.New(cherrypy.Options{Gate: gate, Door: door, Hub: hub, Fire: bus.Fire, Ready: bus.Ready, Log: s.Log})
		},
		Tornado: func(gate *netapi.Gate, door *netapi.Door) (http.Handler, error) {
			return tornado.New(tornado.Options{Gate: gate, Door: door, Hub: hub, Fire: bus.Fire, Log: s.Log})
		},
		Parts: []daemon.Part{
			{Name: "events", Run: daemon.Always(hub.Run)},
			{Name: "bus", Run: daemon.Always(func(ctx context.Context) error {
				<-ctx.Done()
				return bus.Close()
			})},
		},
	}, nil
}
