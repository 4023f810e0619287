// Package stores fetches files from stores of objects for package fileclient: s3://BUCKET/KEY from
// Amazon S3 and compatible stores, and swift://CONTAINER/OBJECT from OpenStack's Swift
// (salt/fileclient.py, get_url).
//
// The options of S3 are s3.keyid, s3.key, s3.service_url, s3.location, s3.verify_ssl, s3.path_style
// and s3.https_enable, or keys below s3 in the pillar. Those of Swift are keystone.user,
// keystone.password, keystone.tenant and keystone.auth_url, or keys of the pillar with these names.
// As in Salt the login at Swift is that of Keystone's version 2, and the environment configures
// proxies. A key of S3 is escaped once; Salt escapes it again, so that it finds no key with a space.
package stores

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/internal/s3"
)

// patience is the timeout of a file.
const patience = time.Hour

// Fetchers returns fetchers for s3 and swift, configured by the options of a minion and its pillar,
// which may be nil.
func Fetchers(opts *data.Map, pillar func() *data.Map) []fileclient.Fetcher {
	if pillar == nil {
		pillar = func() *data.Map { return nil }
	}
	s := settings{opts, pillar}
	return []fileclient.Fetcher{amazon{s}, swift{s}}
}

// settings are the options and the pillar of a minion.
type settings struct {
	opts   *data.Map
	pillar func() *data.Map
}

// most returns the limit of a file, the option http_max_body.
func (s settings) most() int64 {
	if n, ok := s.opts.Value("http_max_body").(int64); ok && n > 0 {
		return n
	}
	return 100 << 30
}

// parts returns the host and the path of an address.
func parts(address string) (host, path string, err error) {
	_, rest, ok := strings.Cut(address, "://")
	host, path, _ = strings.Cut(rest, "/")
	if !ok || host == "" || path == "" {
		return "", "", errors.New("the address names no object")
	}
	path, _, _ = strings.Cut(path, "?")
	if path, err = url.PathUnescape(path); err != nil {
		return "", "", errors.New("the address cannot be read")
	}
	return host, path, nil
}

// amazon fetches from S3.
type amazon struct{ settings }

var _ fileclient.Fetcher = amazon{}

// Schemes returns s3.
func (amazon) Schemes() []string { return []string{"s3"} }

// option returns s3.NAME of the options, or NAME below s3 in the pillar.
func (a amazon) option(name string, usual any) any {
	if v, ok := a.opts.Get("s3." + name); ok {
		return v
	}
	below, _ := a.pillar().Value("s3").(*data.Map)
	if v, ok := below.Get(name); ok {
		return v
	}
	return usual
}

func (a amazon) text(name string) string {
	if v := a.option(name, nil); v != nil {
		return data.Str(v)
	}
	return ""
}

// Fetch writes the content of an object to w.
func (a amazon) Fetch(ctx context.Context, f fileclient.Fetch, w io.Writer) (fileclient.Fetched, error) {
	if err := a.fetch(ctx, f, w); err != nil {
		return fileclient.Fetched{}, &fileclient.FetchError{Err: err,
			Text: fmt.Sprintf("Could not fetch from %s. Exception: %s", fileclient.Redact(f.URL), err)}
	}
	return fileclient.Fetched{}, nil
}

func (a amazon) fetch(ctx context.Context, f fileclient.Fetch, w io.Writer) error {
	bucket, key, err := parts(f.URL)
	if err != nil {
		return err
	}
	c := s3.Config{Bucket: bucket, KeyID: a.text("keyid"), Key: a.text("key"),
		ServiceURL: a.text("service_url"), Location: a.text("location"),
		PathStyle: data.Truth(a.option("path_style", false)),
		HTTP:      !data.Truth(a.option("https_enable", true)), MaxFile: a.most(), Timeout: patience}
	switch v := a.option("verify_ssl", true).(type) {
	case string:
		c.CA = v
	default:
		c.Insecure = !data.Truth(v) || f.Insecure
	}
	b, err := s3.Open(c)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := b.Get(ctx, key, w); err != nil {
		return fmt.Errorf("Failed to get file. %w", err) //nolint:staticcheck // Salt's text
	}
	return nil
}

// swift fetches from Swift.
type swift struct{ settings }

var _ fileclient.Fetcher = swift{}

// Schemes returns swift.
func (swift) Schemes() []string { return []string{"swift"} }

func (s swift) option(name string) string {
	name = "keystone." + name
	for _, from := range []*data.Map{s.opts, s.pillar()} {
		if v := from.Value(name); v != nil {
			return data.Str(v)
		}
	}
	return ""
}

// Fetch writes the content of an object to w. As in Salt the error has no reason; its cause has.
func (s swift) Fetch(ctx context.Context, f fileclient.Fetch, w io.Writer) (fileclient.Fetched, error) {
	if err := s.fetch(ctx, f, w); err != nil {
		return fileclient.Fetched{}, &fileclient.FetchError{Err: err,
			Text: fmt.Sprintf("Could not fetch from %s", fileclient.Redact(f.URL))}
	}
	return fileclient.Fetched{}, nil
}

func (s swift) fetch(ctx context.Context, f fileclient.Fetch, w io.Writer) error {
	container, object, err := parts(f.URL)
	if err != nil {
		return err
	}
	c, err := rest.New(rest.Options{Timeout: patience, MaxBody: s.most(), Insecure: f.Insecure,
		EnvironmentProxies: true})
	if err != nil {
		return err
	}
	defer c.Close()
	token, store, err := s.login(ctx, c)
	if err != nil {
		return fmt.Errorf("log in at keystone.auth_url: %w", err)
	}
	names := strings.Split(object, "/")
	for i, n := range names {
		names[i] = url.PathEscape(n)
	}
	a, err := c.Copy(ctx, rest.Request{URL: strings.TrimRight(store, "/") + "/" + url.PathEscape(container) +
		"/" + strings.Join(names, "/"), Header: map[string]string{"X-Auth-Token": token}}, w)
	if err == nil {
		err = a.Err()
	}
	return err
}

// login returns a token and the address of the store, by Keystone's version 2.
func (s swift) login(ctx context.Context, c *rest.Client) (token, store string, err error) {
	type credentials struct {
		User     string `json:"username"`
		Password string `json:"password"`
	}
	type auth struct {
		Credentials credentials `json:"passwordCredentials"`
		Tenant      string      `json:"tenantName"`
	}
	body, err := json.Marshal(map[string]auth{"auth": {credentials{s.option("user"), s.option("password")},
		s.option("tenant")}})
	if err != nil {
		return "", "", err
	}
	address := s.option("auth_url")
	if err := rest.CheckURL(address); err != nil {
		return "", "", err
	}
	a, err := c.Do(ctx, rest.Request{Method: "POST", URL: strings.TrimRight(address, "/") + "/tokens",
		Body: body, Header: map[string]string{"Content-Type": "application/json"}})
	if err == nil {
		err = a.Err()
	}
	if err != nil {
		return "", "", err
	}
	var answer struct {
		Access struct {
			Token          struct{ ID string }
			ServiceCatalog []struct {
				Type      string
				Endpoints []struct{ PublicURL string }
			}
		}
	}
	if err := json.Unmarshal(a.Body, &answer); err != nil || answer.Access.Token.ID == "" {
		return "", "", errors.New("the answer has no token")
	}
	for _, service := range answer.Access.ServiceCatalog {
		if service.Type == "object-store" && len(service.Endpoints) > 0 {
			return answer.Access.Token.ID, service.Endpoints[0].PublicURL, nil
		}
	}
	return "", "", errors.New("the catalog has no object store")
}
