package saltapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/brineproject/brine/console"
	"github.com/brineproject/brine/daemon"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/cherrypy"
	"github.com/brineproject/brine/netapi/oidc"
	"github.com/brineproject/brine/netapi/stream"
	"github.com/brineproject/brine/netapi/tornado"
)

// Limits of the events that wait for the hub. It only notes them, so that it falls behind for moments.
const (
	streamEvents = 64 << 10
	streamBytes  = 64 << 20
)

// Connect makes the doors of the program salt-api. Both share one reader of the master's events.
func Connect(s Site) (Doors, error) {
	options := eventbus.ClientOptions{MaxEventSize: s.Config.MaxEventSize}
	o := streams(s.Settings)
	o.Log = s.Log
	o.Dial = func(ctx context.Context) (stream.Source, error) {
		return s.Events.Subscribe(ctx, eventbus.SubscribeOptions{Name: "streams",
			MaxEvents: streamEvents, MaxBytes: streamBytes})
	}
	hub := stream.New(o)
	bus := netapi.NewBus(s.Sockets, options)
	return Doors{
		Cherrypy: func(gate *netapi.Gate, door *netapi.Door) (http.Handler, error) {
			o := cherrypy.Options{Gate: gate, Door: door, Hub: hub, Fire: bus.Fire, Ready: bus.Ready, Log: s.Log}
			if door.OIDC != nil {
				var err error
				if o.OIDC, err = oidc.New(oidc.Options{Settings: door.OIDC}); err != nil {
					return nil, err
				}
			}
			return cherrypy.New(o)
		},
		Tornado: func(gate *netapi.Gate, door *netapi.Door) (http.Handler, error) {
			return tornado.New(tornado.Options{Gate: gate, Door: door, Hub: hub, Fire: bus.Fire, Log: s.Log})
		},
		Console: func(gate, api *netapi.Gate, door *netapi.Door) (http.Handler, error) {
			external, _ := s.Opts.Value("external_auth").(*data.Map)
			root, provider := strings.TrimSuffix(door.Prefix, "/"), ""
			if door.OIDC != nil {
				provider = root + "/oidc/login"
			}
			return console.New(console.Options{Gate: gate, API: api, Provider: provider, Hub: hub, Root: root + consolePath,
				Systems: systems(external), Master: s.Opts.Text("id"), Log: s.Log})
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

// streams returns what the sections say of event streams. Their limits add up.
func streams(s *netapi.Settings) stream.Options {
	var o stream.Options
	for _, one := range sections(s) {
		o.MaxListeners += one.door.MaxStreams
		o.MaxPerUser += one.door.MaxStreamsPerUser
	}
	return o
}

// systems returns the names of external_auth, in their order there.
func systems(external *data.Map) []string {
	var names []string
	for name := range external.All() {
		names = append(names, data.Str(name))
	}
	return names
}
