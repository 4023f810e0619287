// Package console is the web page of a master: its minions, keys, jobs and events, for people.
//
//	handler, err := console.New(console.Options{Gate: gate, Hub: hub, Root: "/console", Log: log})
//
// Pages are HTML made on the server. Their style sheet and script are part of the program, and nothing
// is loaded from elsewhere. A page without its script can be read and its forms can be sent; the script
// renews what changes and opens what is folded.
//
// The console knows the master as a client of salt-api does: each page is made of orders that pass
// netapi.Gate in the name of the user who has logged in. What the user may not order, the page does not
// show. The master may be Brine's or Salt's; with Salt's, columns that only Brine's master knows are
// empty.
//
// A request finds its session and writes its page; it has an asker, which orders for its user and knows
// nothing of HTTP. What pages ask for is in minions, keyring and jobCache, which stand on the asker.
//
// Every page has its own address, with its filters in the query. Forms that change something are sent
// with POST, checked for their origin, and answered with a redirect.
package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/stream"
)

// Options configure a console.
type Options struct {
	// Gate carries out the orders of users. Its clients must be enabled.
	Gate *netapi.Gate
	Hub  *stream.Hub
	// Root is the path of the console, as "/console".
	Root string
	// API is the gate of the API beside the console; nil if there is none. Users who have logged in there
	// at a provider of OpenID Connect are logged in here.
	API *netapi.Gate
	// Provider is the address at which a login at that provider begins, as "/oidc/login"; "" if there is
	// none.
	Provider string
	// Systems are the names of external_auth that a login can choose, in their order.
	Systems []string
	// Master is the id of the master, for the title of pages; may be empty.
	Master string
	Now    func() time.Time // nil means time.Now
	Log    logrus.FieldLogger
}

// site is what all pages share.
type site struct {
	Options
	pages  *pages
	assets *assets
	csrf   *http.CrossOriginProtection
	absent absences
	sent   sentForms
}

// New returns the handler of a console, for all paths below o.Root.
func New(o Options) (http.Handler, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Root = strings.TrimSuffix(o.Root, "/")
	s := &site{Options: o, csrf: http.NewCrossOriginProtection()}
	var err error
	if s.assets, err = readAssets(o.Root); err != nil {
		return nil, err
	}
	if s.pages, err = parsePages(s.assets); err != nil {
		return nil, err
	}
	return s.routes(), nil
}

// An action serves one address. Its error becomes a page, or a redirect to the login.
type action func(*request) error

// A route is an address of the console, below its root.
type route struct {
	pattern string // method and path, as of http.ServeMux
	do      action
	open    bool // needs no login
	once    bool // the same form, sent twice, is carried out once
}

// table returns all addresses.
func table() []route {
	return []route{
		{pattern: "GET /{$}", do: home},
		{pattern: "GET /login", do: loginPage, open: true},
		{pattern: "POST /login", do: logIn, open: true},
		{pattern: "POST /logout", do: logOut},
		{pattern: "GET /minions", do: fleet},
		{pattern: "GET /minions/{id}", do: minionPage},
		{pattern: "POST /minions/{id}/grains", do: refreshGrains},
		{pattern: "GET /keys", do: keys},
		{pattern: "POST /keys", do: changeKeys, once: true},
		{pattern: "GET /rights", do: rights},
		{pattern: "GET /run", do: runPage},
		{pattern: "POST /run", do: startJob, once: true},
		{pattern: "GET /jobs", do: history},
		{pattern: "GET /jobs/compare", do: compareJobs},
		{pattern: "GET /jobs/{jid}", do: showJob},
		{pattern: "POST /jobs/{jid}/stop", do: stopJob, once: true},
		{pattern: "POST /jobs/{jid}/apply", do: applyTest, once: true},
		{pattern: "GET /jobs/{jid}/{minion}", do: minionResult},
		{pattern: "GET /events", do: eventList},
		{pattern: "GET /stream", do: events},
		{pattern: "GET /orchestrations", do: orchestrations},
		{pattern: "POST /orchestrations", do: startOrchestration, once: true},
		{pattern: "GET /orchestrations/{jid}", do: orchestration},
		{pattern: "GET /schedules", do: schedules},
		{pattern: "POST /schedules", do: changeSchedule, once: true},
		{pattern: "GET /queue", do: queueList},
		{pattern: "POST /queue/cancel", do: cancelQueued},
	}
}

// routes returns the handler of all addresses.
func (s *site) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range table() {
		method, path, _ := strings.Cut(r.pattern, " ")
		mux.HandleFunc(method+" "+s.Root+path, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r) })
	}
	mux.Handle("GET "+s.Root+"/assets/{name}", s.assets)
	if s.Root != "" {
		mux.HandleFunc(s.Root, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, route{do: toSlash, open: true}) })
	}
	mux.HandleFunc(s.Root+"/", func(w http.ResponseWriter, req *http.Request) {
		s.serve(w, req, route{do: notFound})
	})
	return mux
}

func notFound(*request) error {
	return &netapi.Fault{Status: http.StatusNotFound, Text: "There is no such page."}
}

// toSlash sends the browser from the root without its slash to the one with it.
func toSlash(q *request) error {
	to := url.URL{Path: q.Root + "/", RawQuery: q.r.URL.RawQuery}
	http.Redirect(q.w, q.r, to.String(), http.StatusMovedPermanently)
	return nil
}

// home sends the browser to the first page.
func home(q *request) error { return q.redirect("/minions") }

// serve answers one request.
func (s *site) serve(w http.ResponseWriter, r *http.Request, to route) {
	protect(w.Header())
	q := &request{site: s, w: w, r: r}
	err := q.enter(to.open)
	if err == nil && to.once {
		err = q.once(to.do)
	} else if err == nil {
		err = to.do(q)
	}
	if err != nil {
		q.fail(err)
	}
}

// protect sets the headers that keep a page from loading or sending anything elsewhere.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "+
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// events streams the events of the query's tag and job to the script of a page.
func events(q *request) error {
	return q.streams().Events(q.w, q.r, q.caller)
}

// errNoLogin means that a page needs a login.
var errNoLogin = errors.New("no session")

// fail answers with an error.
func (q *request) fail(err error) {
	if errors.Is(err, errNoLogin) {
		q.askLogin()
		return
	}
	if errors.Is(err, context.Canceled) {
		return // the browser has gone
	}
	f := netapi.FaultOf(err)
	if f.Status >= http.StatusInternalServerError {
		q.Log.Errorf("serve %s %s of %s: %v", q.r.Method, q.r.URL.Path, q.from(), err)
	}
	f.SetHeaders(q.w.Header())
	if err := q.render(f.Status, "error", "Error", newFaultPage(q, f)); err != nil {
		q.Log.Errorf("serve %s %s of %s: %v", q.r.Method, q.r.URL.Path, q.from(), err)
	}
}
