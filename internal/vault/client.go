package vault

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/loader"
)

// Limits of a request.
const (
	maxBody  = 8 << 20         // of a response, in bytes
	patience = 2 * time.Minute // for a response, as in Salt
	idle     = 5 * time.Second // until an unused connection ends
)

// A Client sends requests to one Vault. As in Salt the environment configures proxies. It is safe
// for concurrent use.
type Client struct {
	address
	http *http.Client
}

// An address says where a Vault is and whom to trust there.
type address struct {
	url, namespace string
	// nil or True: the system's certificates; False: all; a text: those of a file or directory
	verify any
}

// verifyOf returns a value of the option verify that an address may have.
func verifyOf(v any) any {
	switch v.(type) {
	case bool, string:
		return v
	}
	return nil
}

func newClient(a address) (*Client, error) {
	trust := &tls.Config{InsecureSkipVerify: a.verify == false} //nolint:gosec // the operator's wish
	if path, ok := a.verify.(string); ok && path != "" {
		var err error
		if trust.RootCAs, err = authorities(path); err != nil {
			return nil, err
		}
	}
	return &Client{a, &http.Client{
		Timeout: patience,
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust,
			ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: idle},
		// Send the token to no other host.
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 5 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}}, nil
}

// authorities returns the certificates in a file, or in the files of a directory.
func authorities(path string) (*x509.CertPool, error) {
	files := []string{path}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*")); err != nil {
			return nil, fmt.Errorf("vault: verify: %w", err)
		}
	}
	pool, found := x509.NewCertPool(), false
	for _, file := range files {
		pem, err := os.ReadFile(file)
		if err != nil && len(files) == 1 {
			return nil, fmt.Errorf("vault: verify: %w", err)
		}
		found = pool.AppendCertsFromPEM(pem) || found
	}
	if !found {
		return nil, fmt.Errorf("vault: verify: %s holds no certificate", path)
	}
	return pool, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// An Answer is a response of Vault.
type Answer struct {
	Status int
	Reason string    // of the status, such as "Not Found"
	Body   *data.Map // nil if the body is no dictionary
	url    string
}

// OK reports whether the request succeeded. A redirect to another host is no success: it is not followed,
// since the token would go there.
func (a *Answer) OK() bool { return a.Status < 300 }

// Err returns the error for a status of 300 and more; from 400 on its text is the one of Python's requests.
func (a *Answer) Err() error {
	switch {
	case a.OK():
		return nil
	case a.Status < 400:
		return loader.Execution("%s answers %d %s: a redirect to another host is not followed; name the active"+
			" server of Vault in the option url", a.url, a.Status, a.Reason)
	}
	whose := "Client"
	if a.Status >= 500 {
		whose = "Server"
	}
	return loader.Exception("requests.exceptions.HTTPError", "%d %s Error: %s for url: %s", a.Status,
		whose, a.Reason, a.url)
}

// Data returns the value data of the body; the error says that there is none.
func (a *Answer) Data() (any, error) {
	if a.Body == nil {
		return nil, loader.Exception("JSONDecodeError", "the answer of Vault is no JSON dictionary")
	}
	v, ok := a.Body.Get("data")
	if !ok {
		return nil, loader.Exception("KeyError", "'data'")
	}
	return v, nil
}

// denied reports whether Vault refused the token, or what it asked for.
func (a *Answer) denied() bool {
	return !a.OK() && data.Equal(a.Body.Value("errors"), []any{"permission denied"})
}

// Do sends one request. path follows v1/ and may have a query. The error shows neither the token
// nor secrets.
func (c *Client) Do(ctx context.Context, method, path, token string, payload any) (*Answer, error) {
	var body io.Reader
	if payload != nil {
		text, err := encode(payload)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	at := c.url + "/v1/" + escape(path)
	r, err := http.NewRequestWithContext(ctx, method, at, body)
	if err != nil {
		return nil, errors.New("vault: url: it cannot be read")
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("X-Vault-Token", token)
	}
	if c.namespace != "" {
		r.Header.Set("X-Vault-Namespace", c.namespace)
	}
	response, err := c.http.Do(r)
	if err != nil {
		if about, ok := errors.AsType[*url.Error](err); ok {
			err = about.Err
		}
		return nil, fmt.Errorf("request to Vault: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer of Vault: %w", err)
	}
	if len(text) > maxBody {
		return nil, fmt.Errorf("the answer of Vault has more than %d bytes", maxBody)
	}
	a := &Answer{Status: response.StatusCode, url: at,
		Reason: strings.TrimPrefix(response.Status, fmt.Sprint(response.StatusCode, " "))}
	a.Body = parseBody(text)
	return a, nil
}

// parseBody returns the dictionary in a body, or nil.
func parseBody(text []byte) *data.Map {
	v, err := pyjson.Load(string(text))
	if err != nil {
		return nil
	}
	body, _ := v.(*data.Map)
	return body
}

// encode returns a payload of values of package data as JSON. The error does not quote it.
func encode(payload any) ([]byte, error) {
	text, err := pyjson.Append(nil, payload, pyjson.Options{Comma: ", ", Colon: ": "})
	if err != nil {
		return nil, loader.Execution("write a request to Vault: a value has no form in JSON")
	}
	return text, nil
}

// escape escapes the parts of a path for a URL; what follows a question mark is left unchanged.
func escape(path string) string {
	path, query, has := strings.Cut(strings.TrimLeft(path, "/"), "?")
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	path = strings.Join(parts, "/")
	if has {
		path += "?" + query
	}
	return path
}
