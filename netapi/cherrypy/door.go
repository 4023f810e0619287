// Package cherrypy is the door of salt-api that Salt's rest_cherrypy opens: its addresses, bodies,
// statuses and headers (salt/netapi/rest_cherrypy/app.py).
//
//	handler, err := cherrypy.New(cherrypy.Options{Gate: gate, Door: section, Hub: hub, Fire: fire, Log: log})
//
// docs/api.md lists where it answers better than the original. Wrong requests are 400 where Salt fails
// with 500. What an Accept header rules out is refused before anything runs. Pages of other origins
// have no access unless cors_origin names them.
package cherrypy

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/media"
	"github.com/brineproject/brine/netapi/oidc"
	"github.com/brineproject/brine/netapi/stream"
	"github.com/brineproject/brine/netapi/web"
)

// Options configure a door.
type Options struct {
	Gate *netapi.Gate
	Door *netapi.Door
	Hub  *stream.Hub
	// Fire fires an event on the master's bus.
	Fire func(ctx context.Context, tag string, body *data.Map) error
	// Ready says why the master cannot be reached; nil means that it always can.
	Ready func(ctx context.Context) error
	// OIDC is the provider at which users log in; nil if there is none.
	OIDC *oidc.Provider
	Now  func() time.Time // nil means time.Now
	Log  logrus.FieldLogger
}

// door serves the requests of one door.
type door struct {
	Options
	routes   map[string]*route // by the first part of the path
	static   *static
	origins  *web.Origins
	streams  *web.Streams
	stats    *stats
	meter    *meter
	hooks    *web.Hooks
	answers  media.Answers
	jobLists web.JobLists
}

// New returns the handler of a door. The error names a file or directory of the section that cannot
// be used.
func New(o Options) (http.Handler, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &door{Options: o, stats: newStats(o.Now()), meter: newMeter(o.Hub)}
	d.hooks = web.NewHooks(o.Fire, o.Now)
	var err error
	if d.origins, err = web.NewOrigins(o.Door.Origins); err != nil {
		return nil, err
	}
	d.streams = &web.Streams{Gate: o.Gate, Hub: o.Hub, Origins: d.origins, Log: o.Log}
	if d.static, err = openStatic(o.Door); err != nil {
		return nil, err
	}
	d.routes = d.allRoutes()
	return d, nil
}

// A request is one request on its way through the checks.
type request struct {
	*door
	w      http.ResponseWriter
	r      *http.Request
	route  *route
	rest   []string // parts of the path behind the route's
	from   netip.Addr
	format media.Format
	body   *media.Body
	// of a request with a login
	session *netapi.Session // nil with an API key
	caller  netapi.Caller
}

// A route is what serves one address.
type route struct {
	name string // first part of the path
	// by method; HEAD is that of GET
	get, post   action
	gets, posts string // what they do, for the description
	login       access
	// most parts of the path that may follow; -1 means any number
	parts int
	query []string // keys of the query that GET takes; nil: none. POST takes any
	bare  bool     // it chooses its own form of answers and reads its own body
}

type action func(*request) error

// An access is who may use a route.
type access int

const (
	anybody  access = iota
	onPost          // POST needs a session
	always          // every method needs a session
	byItself        // the action looks for credentials
	hooks           // a session, unless hooks are open or the path has a secret
)

// allRoutes returns the routes. A new one needs a line in netapi.RouteNames, so that settings cannot hide it.
func (d *door) allRoutes() map[string]*route {
	token := []string{"token", "salt_token"}
	all := map[string]*route{
		"": {get: welcome, gets: "The names of the clients", post: lowstate, posts: "Carry out chunks of lowdata", login: onPost},
		"run": {get: welcome, gets: "The names of the clients",
			post: runAlone, posts: "Carry out chunks with credentials of their own"},
		"token": {get: welcome, gets: "The names of the clients",
			post: makeToken, posts: "Make tokens of the master"},
		"keys": {get: keys, gets: "Keys of minions by state, or fingerprints",
			post: makeKeys, posts: "Make and accept a pair of keys",
			parts: 1, query: []string{"mid"}, login: byItself},
		"events": {get: events, gets: "The events of the master, as an event stream",
			query: append(token, "tag", "job", "after"), bare: true, login: byItself},
		"ws": {get: websocket, gets: "The events of the master, over a websocket",
			parts: 1, query: append(token, "format_events"), bare: true, login: byItself},
		"stats": {get: statistics, gets: "Numbers of requests", login: always},
		"minions": {get: minions, gets: "The grains of minions", post: minionsAsync, posts: "Send jobs without waiting for them",
			login: always, parts: 1, query: []string{"mid"}},
		"jobs": {get: jobs, gets: "Jobs, or one job with its returns", post: lowstate, posts: "Carry out chunks of lowdata",
			login: always, parts: 1, query: append(web.JobFilterKeys(), "jid", "timeout")},
		"login":        {get: pleaseLogIn, gets: "How to log in", post: logIn, posts: "Begin a session"},
		"logout":       {post: logOut, posts: "End the session", login: always},
		"livez":        {get: live, gets: "Whether the program runs", bare: true},
		"readyz":       {get: ready, gets: "Whether the master can be reached", bare: true},
		"metrics":      {get: metrics, gets: "Numbers for Prometheus", bare: true, login: always},
		"openapi.json": {get: describe, gets: "This description"},
	}
	if d.OIDC != nil && d.Door.OIDC != nil {
		all["oidc"] = &route{get: viaProvider, gets: "Log in at a provider of OpenID Connect: login, callback", parts: -1, bare: true}
	}
	if d.Door.OpenStats {
		all["stats"].login, all["metrics"].login = anybody, anybody
	}
	if !d.Door.Sessions {
		for _, name := range []string{"minions", "jobs", "login", "logout"} {
			delete(all, name)
		}
	}
	all[web.FirstPart(d.Door.WebhookURL)] = &route{post: hook, posts: "Fire an event", login: hooks, parts: -1}
	all[web.FirstPart(d.Door.AppPath)] = &route{get: app, gets: "The page of the option app", parts: -1, bare: true}
	for name, r := range all {
		r.name = name
	}
	return all
}

// ServeHTTP answers a request. The order of the checks is that of the original.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	done := d.stats.begin(r, d.Now())
	defer done()
	began, counted := d.Now(), &counter{ResponseWriter: w}
	q := &request{door: d, w: counted, r: r, from: web.Address(r)}
	q.w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := q.serve(); err != nil {
		q.fail(err)
	}
	d.meter.note(q.routeName(), r.Method, counted.status(), d.Now().Sub(began))
}

// routeName returns the first part of the path of a known route.
func (q *request) routeName() string {
	if q.route == nil {
		return "other"
	}
	return "/" + q.route.name
}

func (q *request) serve() error {
	path, ok := q.below(q.r.URL.EscapedPath())
	if !ok {
		return nil
	}
	if err := q.Gate.Admit(q.from); err != nil {
		return err
	}
	if q.wantsApp(path) {
		return app(q)
	}
	if q.static.has(path) {
		return q.static.serve(q.w, q.r, path)
	}
	if err := q.find(path); err != nil {
		return err
	}
	if q.origins.Answer(q.w, q.r, q.route.methods()) {
		return nil
	}
	do, err := q.action()
	if err != nil {
		return err
	}
	if err := q.enter(); err != nil {
		return err
	}
	if q.route.bare {
		return do(q)
	}
	accept, _ := media.Accept(q.r)
	if q.format, err = media.Choose(accept); err != nil {
		return err
	}
	limit := q.Door.MaxBody
	if q.caller.Token == "" && q.route.login != hooks {
		limit = min(limit, web.BodyBeforeLogin)
	}
	if q.body, err = media.Read(q.r, limit); err != nil {
		return err
	}
	return do(q)
}

// below returns a path below root_prefix. It answers requests for other paths itself.
func (q *request) below(path string) (string, bool) {
	prefix := strings.TrimSuffix(q.Door.Prefix, "/")
	if path == prefix && prefix != "" {
		http.Redirect(q.w, q.r, prefix+"/", http.StatusMovedPermanently)
		return "", false
	}
	rest, ok := strings.CutPrefix(path, prefix+"/")
	if !ok {
		q.w.WriteHeader(http.StatusNotFound)
		return "", false
	}
	return "/" + rest, true
}

// find finds the route of a path.
func (q *request) find(path string) error {
	name, rest := "", []string(nil)
	for i, part := range strings.Split(strings.Trim(path, "/"), "/") {
		text, err := url.PathUnescape(part)
		if err != nil {
			return &netapi.Fault{Status: http.StatusNotFound, Text: "Nothing matches the given URI"}
		}
		if i == 0 {
			name = text
		} else {
			rest = append(rest, text)
		}
	}
	route, ok := q.routes[name]
	if !ok {
		return &netapi.Fault{Status: http.StatusNotFound, Text: "The path '" + q.r.URL.Path + "' was not found."}
	}
	q.route, q.rest = route, rest
	if route.parts >= 0 && len(rest) > route.parts || !q.queryIsKnown() {
		return &netapi.Fault{Status: http.StatusNotFound, Text: "Nothing matches the given URI"}
	}
	return nil
}

func (q *request) queryIsKnown() bool {
	if q.r.Method == http.MethodPost || q.r.Method == http.MethodOptions || q.route.parts < 0 {
		return true
	}
	for name := range q.r.URL.Query() {
		known := false
		for _, taken := range q.route.query {
			known = known || taken == name
		}
		if !known {
			return false
		}
	}
	return true
}

// action returns what serves the method.
func (q *request) action() (action, error) {
	q.w.Header().Set("Allow", q.route.methods())
	switch {
	case (q.r.Method == http.MethodGet || q.r.Method == http.MethodHead) && q.route.get != nil:
		return q.route.get, nil
	case q.r.Method == http.MethodPost && q.route.post != nil:
		return q.route.post, nil
	}
	return nil, &netapi.Fault{Status: http.StatusMethodNotAllowed, Text: "Specified method is invalid for this resource"}
}

func (r *route) methods() string { return web.Methods(r.get != nil, r.post != nil) }

// enter checks the address and, where the route needs one, the session.
func (q *request) enter() error {
	needs := q.route.login == always || q.route.login == onPost && q.r.Method == http.MethodPost ||
		q.route.login == hooks && !q.Door.OpenWebhook && q.Door.HookSecret(web.HookPath(q.Door.WebhookURL, q.rest)) == ""
	q.caller = netapi.Caller{From: q.from}
	if !needs {
		return nil
	}
	if c, err := q.Gate.Key(web.HeaderCredential(q.r), q.from); err == nil {
		q.caller = c
		q.w.Header().Set("Cache-Control", "private")
		return nil
	}
	s, err := q.Gate.Session(web.Credential(q.r), q.from)
	if err != nil {
		return err
	}
	if err := q.origins.Check(q.r); err != nil {
		return err
	}
	if err := q.Gate.Confirm(s); err != nil {
		return err
	}
	q.session, q.caller = s, s.Caller(q.from)
	q.w.Header().Set("Cache-Control", "private")
	return nil
}

// fail answers with an error.
func (q *request) fail(err error) {
	q.Gate.Refused(q.from, err)
	f := web.FaultOf(err)
	if f.Status >= http.StatusInternalServerError {
		q.Log.Errorf("serve %s %s of %s: %v", q.r.Method, q.routeName(), q.from, err)
	}
	f.SetHeaders(q.w.Header())
	q.answers.Fail(q.w, q.r, f.Status, f.Text)
}

// answer writes a value.
func (q *request) answer(status int, v any) error {
	return q.answers.Write(q.w, q.r, q.format, status, v)
}
