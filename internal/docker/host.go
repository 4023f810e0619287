package docker

import (
	"fmt"
	"net/url"
	"strings"
)

// DefaultSocket is where an engine listens unless it is told otherwise.
const DefaultSocket = "/var/run/docker.sock"

// An Address is where an engine listens.
type Address struct {
	Network string // unix or tcp
	Dial    string // path of the socket, or host and port
	TLS     bool
	Prefix  string // path in front of the API's own, for TCP
}

// ParseAddress reads an address as the options docker.url and DOCKER_HOST hold it: unix:///PATH,
// tcp://HOST:PORT, http:// or https:// with a port, or HOST:PORT. An empty one is the default socket.
func ParseAddress(text string, tls bool) (Address, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "unix://" {
		return Address{Network: "unix", Dial: DefaultSocket}, nil
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "tcp", text
	}
	switch scheme {
	case "unix", "http+unix":
		return Address{Network: "unix", Dial: "/" + strings.Trim(rest, "/")}, nil
	case "http", "https", "tcp":
		return tcpAddress(text, rest, scheme == "https" || scheme == "tcp" && tls)
	}
	return Address{}, fmt.Errorf("Invalid bind address protocol: %s", text) //nolint:staticcheck // docker's text
}

func tcpAddress(text, rest string, tls bool) (Address, error) {
	u, err := url.Parse("tcp://" + rest)
	if err == nil && u.User != nil { // errors show no password
		text = strings.Replace(u.Redacted(), "tcp://", strings.TrimSuffix(text, rest), 1)
	}
	switch {
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return Address{}, fmt.Errorf("Invalid bind address format: %s", text) //nolint:staticcheck // docker's text
	case u.Port() == "":
		return Address{}, fmt.Errorf("Invalid bind address format: port is required: %s", text) //nolint:staticcheck // docker's text
	}
	host := u.Host
	if u.Hostname() == "" {
		host = "127.0.0.1:" + u.Port()
	}
	return Address{Network: "tcp", Dial: host, TLS: tls, Prefix: strings.TrimRight(u.Path, "/")}, nil
}
