package stream

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// ErrOrigin is wrapped by the error for a websocket that a page of a foreign origin wants to open.
var ErrOrigin = errors.New("origin is not allowed")

// checkOrigin returns an error if a browser sent the request for a page of another origin than the
// server's own and those allowed, such as https://console.example.com; "*" allows all. The own origin
// is that with the host of the request; its scheme may differ, since a proxy may end TLS. Programs that
// are no browsers send no origin.
func checkOrigin(r *http.Request, allowed []string) error {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return nil
	}
	for _, origin := range origins {
		if !sameHost(origin, r.Host) && !listed(origin, allowed) {
			return fmt.Errorf("open websocket from %.200q: %w", origin, ErrOrigin)
		}
	}
	return nil
}

func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		strings.EqualFold(u.Host, host)
}

func listed(origin string, allowed []string) bool {
	for _, a := range allowed {
		if a == "*" || strings.EqualFold(strings.TrimSuffix(a, "/"), origin) {
			return true
		}
	}
	return false
}
