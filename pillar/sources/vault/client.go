package vault

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/pyjson"
)

// maxBody is the limit of a response, in bytes.
const maxBody = 8 << 20

// A client sends requests to one Vault. As in Salt the environment configures proxies.
type client struct {
	*config
	http *http.Client
}

func newClient(c *config) (*client, error) {
	trust := &tls.Config{InsecureSkipVerify: c.insecure} //nolint:gosec // the operator's wish
	if c.verify != "" {
		pem, err := os.ReadFile(c.verify)
		if err != nil {
			return nil, fmt.Errorf("vault: verify: %w", err)
		}
		if trust.RootCAs = x509.NewCertPool(); !trust.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("vault: verify: %s holds no certificate", c.verify)
		}
	}
	return &client{c, &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust,
			ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second},
		// Send the token to no other host.
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 5 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}}, nil
}

// An answer is a response of Vault. The body is empty if it is no dictionary.
type answer struct {
	status int
	reason string
	body   *data.Map
}

// do sends one request. path follows v1/ and may have a query. The error shows neither the token
// nor secrets.
func (c *client) do(ctx context.Context, method, path, token string, payload any) (*answer, error) {
	var body io.Reader
	if payload != nil {
		text, err := json.Marshal(payload)
		if err != nil {
			return nil, errors.New("write a request")
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+"/v1/"+escape(path), body)
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
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBody {
		return nil, fmt.Errorf("the answer has more than %d bytes", maxBody)
	}
	a := &answer{status: response.StatusCode,
		reason: strings.TrimPrefix(response.Status, fmt.Sprint(response.StatusCode, " "))}
	if v, err := pyjson.Load(string(text)); err == nil {
		a.body, _ = v.(*data.Map)
	}
	return a, nil
}

// escape escapes the parts of a path for a URL; what follows a question mark is left unchanged.
func escape(path string) string {
	path, query, has := strings.Cut(path, "?")
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

// A mount is Vault's description of the mount of a path.
type mount struct {
	version2 bool
	path     string
	until    time.Time
}

func mountOf(a *answer) (mount, bool) {
	found, ok := a.body.Value("data").(*data.Map)
	if !ok || a.status != 200 || found.Len() == 0 {
		return mount{}, false
	}
	kind := found.Text("type")
	options, _ := found.Value("options").(*data.Map)
	return mount{version2: (kind == "" || kind == "kv") && options.Text("version") == "2",
		path: found.Text("path")}, true
}

// Limits of the cached mounts.
const (
	maxMounts = 10_000
	mountTime = 10 * time.Minute
)

// mounts caches Vault's mounts of paths.
type mounts struct {
	mu    sync.Mutex
	known map[string]mount
}

func mountKey(c *client, path string) string { return c.url + "\x00" + c.namespace + "\x00" + path }

func (m *mounts) get(c *client, path string) (mount, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.known[mountKey(c, path)]
	return found, ok && time.Now().Before(found.until)
}

func (m *mounts) put(c *client, path string, found mount) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxMounts {
		m.known = map[string]mount{}
	}
	found.until = time.Now().Add(mountTime)
	m.known[mountKey(c, path)] = found
}
