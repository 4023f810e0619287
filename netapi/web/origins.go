package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/brineproject/brine/netapi"
)

// Origins are the origins whose pages may use a door (cors_origin). Without any, only pages of the door
// itself may; Salt's rest_cherrypy lets those of every origin use the cookies of its users.
type Origins struct {
	listed []string
	csrf   *http.CrossOriginProtection
}

// NewOrigins returns the origins of a list, such as https://console.example.com. With "*" the pages of
// all others may read answers, but not use the cookie of their visitors. The error names an entry that is
// not the origin of a page, such as one with a path.
func NewOrigins(list []string) (*Origins, error) {
	o := &Origins{listed: list, csrf: http.NewCrossOriginProtection()}
	for _, origin := range list {
		if origin == "*" {
			continue
		}
		if err := o.csrf.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// Check returns a *netapi.Fault if a page of another origin uses the cookie of its visitor, whatever the
// method: GET of an event stream or of minions has effects too.
func (o *Origins) Check(r *http.Request) error {
	if HeaderCredential(r) != "" || r.Header.Get("X-Requested-With") != "" {
		return nil // a page cannot set these without the leave of cors_origin
	}
	asked := *r
	asked.Method = http.MethodPost // GET would always pass
	if err := o.csrf.Check(&asked); err != nil {
		return &netapi.Fault{Status: http.StatusForbidden, Text: "The page of another origin may not use this session", Err: err}
	}
	return nil
}

// CheckWebSocket returns a *netapi.Fault if a page of another origin opens a websocket, whatever its
// credential: browsers ask nobody before they do. Listed origins may, and with "*" all. The own origin is
// that with the host of the request; its scheme may differ, since a proxy may end TLS. Programs that are no
// browsers send no origin.
func (o *Origins) CheckWebSocket(r *http.Request) error {
	for _, origin := range r.Header.Values("Origin") {
		if !sameHost(origin, r.Host) && !o.lists(origin) {
			return &netapi.Fault{Status: http.StatusForbidden, Text: "The page of another origin may not open a websocket"}
		}
	}
	return nil
}

func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, host)
}

func (o *Origins) lists(origin string) bool {
	return slices.ContainsFunc(o.listed, func(one string) bool { return one == "*" || strings.EqualFold(one, origin) })
}

// Answer sets the headers for pages of other origins, and answers preflight requests; then done is true.
// methods are those of the address, as in the header Allow.
func (o *Origins) Answer(w http.ResponseWriter, r *http.Request, methods string) (done bool) {
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	named := slices.Contains(o.listed, origin)
	switch {
	case origin == "":
	case named:
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", "GET, POST, X-Auth-Token")
	case slices.Contains(o.listed, "*"):
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "GET, POST, X-Auth-Token")
		named = true
	}
	if r.Method != http.MethodOptions {
		return false
	}
	if named {
		h.Set("Access-Control-Allow-Methods", "GET, POST")
		h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Auth-Token, X-Requested-With")
		h.Set("Access-Control-Max-Age", "1400")
	}
	h.Set("Allow", methods)
	w.WriteHeader(http.StatusNoContent)
	return true
}
