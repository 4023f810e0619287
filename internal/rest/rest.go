// Package rest sends requests to web services for plug-ins: to databases, chat systems and stores
// of configuration.
//
//	c, err := rest.New(rest.Options{Timeout: 10 * time.Second})
//	defer c.Close()
//	a, err := c.Do(ctx, rest.Request{URL: "https://consul.example.com/v1/kv/a"})
//
// Bodies are limited in size and requests in time. A redirect is followed only on the same server
// and only by GET, so that credentials go nowhere else. Errors contain no part of an address,
// which may hold secrets.
package rest

import (
	"bytes"
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

	"github.com/brineproject/brine/internal/pyjson"
)

// Defaults of Options.
const (
	timeout = time.Minute
	maxBody = 32 << 20
)

// Options configure a Client.
type Options struct {
	Timeout  time.Duration // of a whole request; 0 means a minute
	MaxBody  int64         // limit of a response body in bytes; 0 means 32 MiB
	Insecure bool          // do not verify the certificate of the server
	CA       string        // file of trusted authorities; "" means those of the system
	// files with the certificate of the client and its key; Cert alone may hold both
	Cert, Key string
	Trust     []byte           // trusted authorities as PEM, in place of CA
	Pair      *tls.Certificate // the client's certificate, in place of Cert and Key
	// use the proxies that the environment names, where the library that Salt uses does so
	EnvironmentProxies bool
	// the proxy for a request, nil for none; it replaces those of the environment
	Proxy func(*http.Request) (*url.URL, error)
}

// A Client sends requests. Several goroutines may use it.
type Client struct {
	http    *http.Client
	timeout time.Duration
	most    int64
}

// New returns a client. The error names a file of the options that cannot be used.
func New(o Options) (*Client, error) {
	trust, err := o.trust()
	if err != nil {
		return nil, err
	}
	t := &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 4}
	if o.EnvironmentProxies {
		t.Proxy = http.ProxyFromEnvironment
	}
	if o.Proxy != nil {
		t.Proxy = o.Proxy
	}
	return Of(&http.Client{Transport: t}, o), nil
}

// Of returns a client that uses the connections of another. Only the timeout and the limit of o
// count.
func Of(h *http.Client, o Options) *Client {
	h.CheckRedirect = follow
	c := &Client{http: h, timeout: o.Timeout, most: o.MaxBody}
	if c.timeout <= 0 {
		c.timeout = timeout
	}
	if c.most <= 0 {
		c.most = maxBody
	}
	return c
}

func (o *Options) trust() (*tls.Config, error) {
	trust := &tls.Config{InsecureSkipVerify: o.Insecure, MinVersion: tls.VersionTLS12} //nolint:gosec // the operator's wish
	if o.CA != "" && !o.Insecure {
		pem, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("read trusted authorities: %w", err)
		}
		if trust.RootCAs = x509.NewCertPool(); !trust.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read trusted authorities: %s contains no certificate", o.CA)
		}
	}
	if len(o.Trust) > 0 && !o.Insecure {
		if trust.RootCAs = x509.NewCertPool(); !trust.RootCAs.AppendCertsFromPEM(o.Trust) {
			return nil, errors.New("read trusted authorities: there is no certificate")
		}
	}
	if o.Pair != nil {
		trust.Certificates = []tls.Certificate{*o.Pair}
	}
	if o.Cert == "" {
		return trust, nil
	}
	key := o.Key
	if key == "" {
		key = o.Cert
	}
	pair, err := tls.LoadX509KeyPair(o.Cert, key)
	if err != nil {
		return nil, fmt.Errorf("read the client's certificate: %w", err)
	}
	trust.Certificates = []tls.Certificate{pair}
	return trust, nil
}

// follow follows up to five redirects of a GET on the same server.
func follow(r *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 5 || first.Method != http.MethodGet || r.URL.Host != first.URL.Host ||
		r.URL.Scheme != first.URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// A Request is a request to a service.
type Request struct {
	Method string // "" means GET
	// address; a user and a password in it become basic authentication
	URL            string
	Header         map[string]string
	User, Password string // for basic authentication, if User is set
	Body           []byte // nil has none
}

// An Answer is the response of a service, whatever its status.
type Answer struct {
	Status int
	Reason string // of the status
	Header http.Header
	Body   []byte
}

// OK reports whether the status is a success.
func (a *Answer) OK() bool { return a.Status >= 200 && a.Status <= 299 }

// Err returns an error with the status, or nil for a success. It does not contain the body.
func (a *Answer) Err() error {
	if a.OK() {
		return nil
	}
	return fmt.Errorf("HTTP %d: %s", a.Status, a.Reason)
}

// JSON returns the body as a value. The error does not contain the body.
func (a *Answer) JSON() (any, error) {
	v, err := pyjson.Load(string(a.Body))
	if err != nil {
		return nil, errors.New("the response is not JSON")
	}
	return v, nil
}

// Do sends a request and reads the response.
func (c *Client) Do(ctx context.Context, r Request) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	response, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, c.most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the response: %w", err)
	case int64(len(body)) > c.most:
		return nil, fmt.Errorf("the response has more than %d bytes", c.most)
	}
	return answer(response, body), nil
}

// Copy sends a request and writes the body of a success to w. The body of other responses, up to
// the limit, is in the answer.
func (c *Client) Copy(ctx context.Context, r Request, w io.Writer) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	response, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := answer(response, nil)
	if !a.OK() {
		a.Body, err = io.ReadAll(io.LimitReader(response.Body, min(c.most, 1<<20)))
		return a, err
	}
	n, err := io.Copy(w, io.LimitReader(response.Body, c.most+1))
	if err == nil && n > c.most {
		err = fmt.Errorf("the response has more than %d bytes", c.most)
	}
	return a, err
}

func answer(r *http.Response, body []byte) *Answer {
	reason := strings.TrimPrefix(r.Status, fmt.Sprint(r.StatusCode))
	return &Answer{Status: r.StatusCode, Reason: strings.TrimSpace(reason), Header: r.Header,
		Body: body}
}

func (c *Client) send(ctx context.Context, r Request) (*http.Response, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	q, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil {
		return nil, errors.New("the address or the method of a request is invalid")
	}
	for name, value := range r.Header {
		if strings.EqualFold(name, "host") {
			q.Host = value
			continue
		}
		q.Header.Set(name, value)
	}
	if r.User != "" {
		q.SetBasicAuth(r.User, r.Password)
	}
	response, err := c.http.Do(q)
	if about, ok := errors.AsType[*url.Error](err); ok {
		err = about.Err // the outer error contains the address
	}
	return response, err
}

// Part escapes a value for one part of a path. A value that could lead to another part is an error.
func Part(name, value string) (string, error) {
	if value == "" || value == "." || value == ".." || strings.ContainsAny(value, "/\\\x00\r\n") {
		return "", fmt.Errorf("%s is not fit for an address", name)
	}
	return url.PathEscape(value), nil
}

// Public returns an address without its parts that may be secret: user, query and fragment.
func Public(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "?"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// CheckURL returns an error unless an address is one of http or https with a server.
func CheckURL(address string) error {
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" ||
		u.Host == "" {
		return errors.New("expected an address of http or https")
	}
	return nil
}
