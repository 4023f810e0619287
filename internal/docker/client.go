package docker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

const (
	answerLimit  = 64 << 20 // bytes of an answer that is read as a whole
	messageLimit = 64 << 10 // bytes of an error's text
	minAPI       = "1.24"
)

// Options say how to reach an engine.
type Options struct {
	URL     string        // see ParseAddress
	Version string        // of the API; "" or auto asks the engine
	Timeout time.Duration // for each wait for the engine; 0 waits without end
	TLS     *TLS          // certificates for an address with TLS; nil takes those of the system
}

// TLS names the files of a client's certificate and of the authority that signed the engine's.
type TLS struct {
	Cert, Key, CA string
	NoVerify      bool // accept each certificate of the engine
}

// A Client sends requests to one engine. Several goroutines may use it at once.
type Client struct {
	http    *http.Client
	dial    func(ctx context.Context) (net.Conn, error)
	base    string // of URLs
	host    string // header Host
	timeout time.Duration
	version string
}

// New returns a client and asks the engine for the version of its API, unless the options give it.
func New(ctx context.Context, o Options) (*Client, error) {
	addr, err := ParseAddress(o.URL, o.TLS != nil)
	if err != nil {
		return nil, err
	}
	c := &Client{timeout: o.Timeout, host: "localhost", base: "http://localhost"}
	if addr.Network == "tcp" {
		c.host, c.base = addr.Dial, "http://"+addr.Dial+addr.Prefix
	}
	dialer := &net.Dialer{Timeout: o.Timeout}
	c.dial = func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, addr.Network, addr.Dial) }
	if addr.TLS {
		conf, err := tlsConfig(o.TLS)
		if err != nil {
			return nil, err
		}
		secured := &tls.Dialer{NetDialer: dialer, Config: conf}
		c.dial = func(ctx context.Context) (net.Conn, error) { return secured.DialContext(ctx, "tcp", addr.Dial) }
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			// TLS is part of dialing, so that all connections are made in one way
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
			// a state runs hundreds of requests one after another
			MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if c.version = o.Version; c.version == "" || strings.EqualFold(c.version, "auto") {
		if c.version, err = c.serverVersion(ctx); err != nil {
			c.Close()
			return nil, fmt.Errorf("Error while fetching server API version: %w", err)
		}
	}
	if VersionLess(c.version, minAPI) {
		c.Close()
		return nil, fmt.Errorf("API versions below %s are no longer supported by this library.", minAPI) //nolint:staticcheck // docker's text
	}
	return c, nil
}

// Close ends the client's idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Version returns the version of the API that requests name.
func (c *Client) Version() string { return c.version }

// WithTimeout returns a client of the same engine with another limit on each wait.
func (c *Client) WithTimeout(d time.Duration) *Client {
	other := *c
	other.timeout = d
	return &other
}

// Timeout returns the limit on each wait for the engine.
func (c *Client) Timeout() time.Duration { return c.timeout }

func (c *Client) serverVersion(ctx context.Context) (string, error) {
	v, err := c.Call(ctx, Request{Method: http.MethodGet, Path: "/version", Unversioned: true})
	if err != nil {
		return "", err
	}
	m, ok := v.(*data.Map)
	version, _ := m.Value("ApiVersion").(string)
	if !ok || version == "" {
		return "", errors.New(`Invalid response from docker daemon: key "ApiVersion" is missing.`) //nolint:staticcheck // docker's text
	}
	return version, nil
}

func tlsConfig(t *TLS) (*tls.Config, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if t == nil {
		return conf, nil
	}
	conf.InsecureSkipVerify = t.NoVerify
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("load the certificate for the engine: %w", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("load the authority of the engine: %w", err)
		}
		conf.RootCAs = x509.NewCertPool()
		if !conf.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("load the authority of the engine: %s has no certificate", t.CA)
		}
	}
	return conf, nil
}

// A Request is one call of the API.
type Request struct {
	Method      string
	Path        string // without version; its parts are escaped by Path
	Query       url.Values
	Body        *data.Map // sent as JSON; nil for none. Values that are None at the top are left out.
	Raw         io.Reader // body instead of Body
	Type        string    // media type of Raw
	Header      http.Header
	Unversioned bool
	Patient     time.Duration // added to the limit on each wait
	Silence     time.Duration // how long the engine may be silent at least; 0 means the client's limit
	Endless     bool          // no limit on the wait: it is for the end of a container
}

// Path joins parts to the path of a request. Each part but the fixed words is escaped, so that a
// name cannot become another path.
func Path(words ...string) string {
	var b strings.Builder
	for i, word := range words {
		b.WriteByte('/')
		if i%2 == 1 {
			// names of images hold slashes, which the API wants as they are
			word = strings.ReplaceAll(url.PathEscape(word), "%2F", "/")
		}
		b.WriteString(word)
	}
	return b.String()
}

// plainPath reports whether the server will take the path as it is. Dots would climb to another one.
func plainPath(path string) bool {
	for part := range strings.SplitSeq(path[1:], "/") {
		if part == "." || part == ".." || part == "" {
			return false
		}
	}
	return true
}

// Do sends a request and returns the answer, whose body the caller must close. An answer with a
// status of 400 or more is an *Error.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	if !plainPath(r.Path) {
		return nil, &Error{http.StatusNotFound, "no such object: the name makes the path " + r.Path}
	}
	ctx, wait := c.patience(ctx, r)
	if r.Raw != nil {
		r.Raw = &patientReader{r.Raw, wait}
	}
	req, err := c.request(ctx, r)
	if err != nil {
		wait.end()
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		defer wait.end()
		return nil, wait.explain(trimURL(err))
	}
	resp.Body = &patientBody{resp.Body, wait}
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		defer resp.Body.Close()
		return nil, refusal(resp)
	case resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode != http.StatusNotModified:
		defer resp.Body.Close()
		return nil, fmt.Errorf("the engine redirects %s to another address, which is not followed", r.Path)
	}
	return resp, nil
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	body, kind := r.Raw, r.Type
	if r.Body != nil {
		text, err := encode(r.Body)
		if err != nil {
			return nil, err
		}
		body, kind = strings.NewReader(text), "application/json"
	}
	prefix := "/v" + c.version
	if r.Unversioned {
		prefix = ""
	}
	target := c.base + prefix + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target, body)
	if err != nil {
		return nil, fmt.Errorf("request %s: %w", r.Path, err)
	}
	for key, values := range r.Header {
		req.Header[key] = values
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	return req, nil
}

// encode returns a body as JSON.
func encode(body *data.Map) (string, error) {
	sent := data.NewMap()
	for k, v := range body.All() {
		if v != nil {
			sent.Set(k, v)
		}
	}
	text, err := pyjson.Append(nil, sent, pyjson.Options{Comma: ",", Colon: ":"})
	if err != nil {
		return "", fmt.Errorf("encode the request: %w", err)
	}
	return string(text), nil
}

// refusal returns the engine's error.
func refusal(resp *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(resp.Body, messageLimit))
	if err != nil {
		return &Error{resp.StatusCode, resp.Status}
	}
	if v, err := pyjson.Load(string(text)); err == nil {
		if m, ok := v.(*data.Map); ok && m.Has("message") {
			return &Error{resp.StatusCode, m.Text("message")}
		}
	}
	return &Error{resp.StatusCode, strings.TrimSpace(string(text))}
}

// Call sends a request and returns the answer as a value of package data, None for an empty one.
func (c *Client) Call(ctx context.Context, r Request) (any, error) {
	resp, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := whole(resp.Body, answerLimit)
	if err != nil {
		return nil, fmt.Errorf("read the answer to %s: %w", r.Path, err)
	}
	if len(strings.TrimSpace(text)) == 0 {
		return nil, nil
	}
	v, err := pyjson.Load(text)
	if err != nil {
		return nil, fmt.Errorf("read the answer to %s: %w", r.Path, err)
	}
	return v, nil
}

// trimURL leaves out the address with which net/http begins its errors.
func trimURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// VersionLess reports whether a version of the API such as 1.24 is older than another.
func VersionLess(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if x, y := part(as, i), part(bs, i); x != y {
			return x < y
		}
	}
	return false
}

func part(parts []string, i int) int {
	n := 0
	if i < len(parts) {
		for _, c := range parts[i] {
			if c < '0' || c > '9' || n > 1<<20 {
				break
			}
			n = n*10 + int(c-'0')
		}
	}
	return n
}
