// Package tornado is the door of salt-api that Salt's rest_tornado opens: its addresses, statuses and
// forms of answers (salt/netapi/rest_tornado/saltnado.py).
//
//	handler, err := tornado.New(tornado.Options{Gate: gate, Door: section, Hub: hub, Fire: fire, Log: log})
//
// A login makes a token of the master, and no session: whoever has such a token may use this door, and
// it ends with the token. The clients are local, local_async, runner and runner_async.
//
// Where it differs from Salt: the login is checked before a body is read, and the whole body before any
// of it is carried out; wrong requests are 400; a request whose only chunk fails has the status of the
// failure; netapi_enable_clients, api_acl, authorized_ips and max_request_body_size count; a page of
// another origin cannot use the cookie; and the line of HTML of an error tells the reason. The header
// X-Salt-Version, for which some clients look, is not sent, as Salt does not send it.
package tornado

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/media"
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
	Now  func() time.Time // nil means time.Now
	Log  logrus.FieldLogger
}

// door serves the requests of one door.
type door struct {
	Options
	routes   map[string]*route // by the first part of the path
	origins  *web.Origins
	streams  *web.Streams
	hooks    *web.Hooks
	answers  media.Answers
	jobLists web.JobLists
}

// New returns the handler of a door. The error names an entry of cors_origin that is not the origin of a
// page.
func New(o Options) (http.Handler, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &door{Options: o, hooks: web.NewHooks(o.Fire, o.Now)}
	var err error
	if d.origins, err = web.NewOrigins(o.Door.Origins); err != nil {
		return nil, err
	}
	d.streams = &web.Streams{Gate: o.Gate, Hub: o.Hub, Origins: d.origins, Log: o.Log}
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
	format media.Format
	body   *media.Body
	caller netapi.Caller // without a token where the route needs none
}

// A route is what serves one address.
type route struct {
	get, post action // HEAD is that of GET
	login     access
	parts     int  // most parts of the path that may follow; -1 means any number. POST takes none, or any
	bare      bool // it chooses its own form of answers
	hook      bool // it fires events
}

type action func(*request) error

// An access is who may use a route.
type access int

const (
	anybody access = iota
	onPost         // POST needs a token
	always         // every method needs a token
)

func (d *door) allRoutes() map[string]*route {
	all := map[string]*route{
		"":        {get: welcome, post: lowstate, login: onPost},
		"login":   {get: pleaseLogIn, post: logIn},
		"minions": {get: minions, post: minionsAsync, login: always, parts: 1},
		"jobs":    {get: jobs, post: lowstate, login: always, parts: 1},
		"run":     {get: welcome, post: runAlone},
		"events":  {get: events, login: always, bare: true},
	}
	hooks := &route{post: hook, login: always, parts: -1, hook: true}
	if d.Door.OpenWebhook {
		hooks.login = anybody
	}
	all[web.FirstPart(d.Door.WebhookURL)] = hooks
	if d.Door.Websockets {
		all["all_events"] = &route{get: allEvents, parts: 1, bare: true}
		all["formatted_events"] = &route{get: formattedEvents, parts: 1, bare: true}
	}
	return all
}

// ServeHTTP answers a request.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := &request{door: d, w: w, r: r, caller: netapi.Caller{From: web.Address(r)}}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := q.serve(); err != nil {
		q.fail(err)
	}
}

// serve leads a request through the checks, in the order of their cost: nothing is read of a body
// before the address, the method and the login are right.
func (q *request) serve() error {
	if err := q.find(); err != nil {
		return err
	}
	if q.origins.Answer(q.w, q.r, q.route.methods()) {
		return nil
	}
	do, err := q.action()
	if err != nil {
		return err
	}
	if err := q.Gate.Admit(q.caller.From); err != nil {
		return err
	}
	if !q.route.bare {
		accept, _ := media.Accept(q.r)
		if q.format, err = media.Choose(accept); err != nil {
			return err
		}
	}
	if q.needsLogin() {
		if done, err := q.enter(); done || err != nil {
			return err
		}
	}
	limit := q.Door.MaxBody
	if q.caller.Token == "" && !q.route.hook {
		limit = min(limit, web.BodyBeforeLogin)
	}
	if q.body, err = media.Read(q.r, limit); err != nil {
		return err
	}
	return do(q)
}

// find finds the route of the path.
func (q *request) find() error {
	var parts []string
	for part := range strings.SplitSeq(strings.TrimPrefix(q.r.URL.EscapedPath(), "/"), "/") {
		text, err := url.PathUnescape(part)
		if err != nil {
			return &netapi.Fault{Status: http.StatusNotFound}
		}
		parts = append(parts, text)
	}
	if n := len(parts); n > 1 && parts[n-1] == "" {
		parts = parts[:n-1]
	}
	route, ok := q.routes[parts[0]]
	if !ok || route.parts >= 0 && len(parts)-1 > route.parts {
		return &netapi.Fault{Status: http.StatusNotFound}
	}
	q.route, q.rest = route, parts[1:]
	return nil
}

// action returns what serves the method.
func (q *request) action() (action, error) {
	switch q.r.Method {
	case http.MethodGet, http.MethodHead:
		if q.route.get != nil {
			return q.route.get, nil
		}
	case http.MethodPost:
		if q.route.post != nil && (q.route.parts < 0 || len(q.rest) == 0) {
			return q.route.post, nil
		}
	}
	q.w.Header().Set("Allow", q.route.methods())
	return nil, &netapi.Fault{Status: http.StatusMethodNotAllowed}
}

func (r *route) methods() string { return web.Methods(r.get != nil, r.post != nil) }

func (q *request) needsLogin() bool {
	return q.route.login == always || q.route.login == onPost && q.r.Method == http.MethodPost
}

// enter finds the caller of a request. One without a valid token is sent to the login; then done is
// true.
func (q *request) enter() (done bool, err error) {
	c, err := q.Gate.Caller(web.Credential(q.r), q.caller.From)
	if err != nil {
		q.Gate.Refused(q.caller.From, err)
		q.w.Header().Set("Location", "/login")
		q.w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		q.w.WriteHeader(http.StatusFound)
		return true, nil
	}
	if err := q.origins.Check(q.r); err != nil {
		return false, err
	}
	q.caller = c
	q.w.Header().Set("Cache-Control", "private")
	return false, nil
}

// fail answers with an error.
func (q *request) fail(err error) {
	if p, ok := errors.AsType[*plain](err); ok {
		q.page(p.status, p.text)
		return
	}
	q.Gate.Refused(q.caller.From, err)
	f := web.FaultOf(err)
	f.SetHeaders(q.w.Header())
	if f.Status >= http.StatusInternalServerError {
		q.Log.Errorf("serve %s %s of %s: %v", q.r.Method, q.route.shown(q.r), q.caller.From, err)
	}
	line := fmt.Sprintf("%d: %s", f.Status, http.StatusText(f.Status))
	body := line
	if f.Text != "" {
		body += ": " + html.EscapeString(strings.ToValidUTF8(f.Text, "\uFFFD"))
	}
	q.page(f.Status, "<html><title>"+line+"</title><body>"+body+"</body></html>")
}

// shown returns the path for the log. That of a websocket has a token.
func (r *route) shown(req *http.Request) string {
	if r != nil && r.bare {
		return "/" + web.FirstPart(req.URL.Path)
	}
	return req.URL.Path
}

// A plain is an error whose text is the whole body of the answer.
type plain struct {
	status int
	text   string
}

func (p *plain) Error() string { return p.text }

// page writes an error.
func (q *request) page(status int, text string) {
	h := q.w.Header()
	h.Set("Content-Type", "text/html; charset=UTF-8")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	q.w.WriteHeader(status)
	if q.r.Method != http.MethodHead {
		_, _ = q.w.Write([]byte(text)) // a client that does not read it is no error
	}
}

// answer writes a value.
func (q *request) answer(status int, v any) error {
	return q.answers.Write(q.w, q.r, q.format, status, v)
}
