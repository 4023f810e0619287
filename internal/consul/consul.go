// Package consul reads and writes the key-value store of a Consul over HTTP.
package consul

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
	"github.com/brineproject/brine/loader"
)

// Config describes how to reach a Consul.
type Config struct {
	Host        string // "" means 127.0.0.1
	Port        int    // 0 means 8500
	Token       string
	Scheme      string // "" means http
	Consistency string // default, consistent or stale
	DC          string // datacenter; "" means that of the agent
	Insecure    bool   // do not verify the certificate of the server
	CA          string // file of trusted authorities
	Cert, Key   string // of the client
	Timeout     time.Duration
}

// Parse returns the configuration in a dictionary of the options host, port, token, scheme,
// consistency, dc, verify and cert, as the constructor of python-consul takes them. dc must be a
// text. Unknown names are errors.
func Parse(options *data.Map) (Config, error) {
	var c Config
	for k, v := range options.All() {
		name := data.Str(k)
		if err := c.set(name, v); err != nil {
			return c, fmt.Errorf("consul.%s: %w", name, err)
		}
	}
	return c, nil
}

func (c *Config) set(name string, v any) error {
	text := ""
	if v != nil {
		text = data.Str(v)
	}
	switch name {
	case "host":
		c.Host = text
	case "token":
		c.Token = text
	case "dc":
		c.DC = text
	case "target": // an option of python-consul that Salt's documentation names; it has no effect
	case "scheme":
		if text != "http" && text != "https" {
			return errors.New("expected http or https")
		}
		c.Scheme = text
	case "consistency":
		if text != "default" && text != "consistent" && text != "stale" {
			return errors.New("expected default, consistent or stale")
		}
		c.Consistency = text
	case "port":
		n, err := loader.Int(v)
		if err != nil || n < 1 || n > 65535 {
			return errors.New("expected the number of a port")
		}
		c.Port = int(n)
	case "verify":
		if path, ok := v.(string); ok {
			c.CA = path
			return nil
		}
		c.Insecure = !data.Truth(v)
	case "cert":
		return c.certificate(v)
	default:
		return errors.New("unknown option")
	}
	return nil
}

// certificate reads a file, or a list of the files with certificate and key.
func (c *Config) certificate(v any) error {
	files := data.TextsOf(v)
	if len(files) > 2 {
		return errors.New("expected a file, or a certificate and its key")
	}
	if len(files) > 0 {
		c.Cert = files[0]
	}
	if len(files) > 1 {
		c.Key = files[1]
	}
	return nil
}

// A KV is the key-value store of one Consul. Several goroutines may use it.
type KV struct {
	config Config
	http   *rest.Client
}

// Open returns the store. It does not connect. As with Salt's library the environment configures
// proxies.
func Open(c Config) (*KV, error) {
	h, err := rest.New(rest.Options{Timeout: c.Timeout, Insecure: c.Insecure, CA: c.CA, Cert: c.Cert,
		Key: c.Key, MaxBody: 64 << 20, EnvironmentProxies: true})
	if err != nil {
		return nil, err
	}
	if c.Host == "" {
		c.Host = "127.0.0.1"
	}
	if c.Port == 0 {
		c.Port = 8500
	}
	if c.Scheme == "" {
		c.Scheme = "http"
	}
	return &KV{c, h}, nil
}

// Close closes the connections.
func (s *KV) Close() { s.http.Close() }

// An Entry is one key of the store.
type Entry struct {
	Key   string
	Value []byte // nil for an empty value
}

// CheckKey returns an error for a key that an address cannot hold: the server would shorten it.
func CheckKey(key string) error {
	if strings.HasPrefix(key, "/") {
		return errors.New("keys should not start with a forward slash")
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "." || part == ".." {
			return errors.New(". or .. is a part of a key")
		}
	}
	return nil
}

// request sends a request for a key.
func (s *KV) request(ctx context.Context, method, key string, query url.Values, body []byte) (*rest.Answer, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	if s.config.DC != "" {
		query.Set("dc", s.config.DC)
	}
	if s.config.Consistency == "consistent" || s.config.Consistency == "stale" {
		query.Set(s.config.Consistency, "1")
	}
	parts := strings.Split(key, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	address := s.config.Scheme + "://" + net.JoinHostPort(s.config.Host, strconv.Itoa(s.config.Port)) +
		"/v1/kv/" + strings.Join(parts, "/")
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	header := map[string]string{}
	if s.config.Token != "" {
		header["X-Consul-Token"] = s.config.Token
	}
	return s.http.Do(ctx, rest.Request{Method: method, URL: address, Header: header, Body: body})
}

// Get returns the value of a key; found is false if there is none.
func (s *KV) Get(ctx context.Context, key string) (value []byte, found bool, err error) {
	entries, err := s.entries(ctx, key, url.Values{})
	if err != nil || len(entries) == 0 {
		return nil, false, err
	}
	return entries[0].Value, true, nil
}

// Tree returns the entries whose keys begin with a prefix, sorted by key.
func (s *KV) Tree(ctx context.Context, prefix string) ([]Entry, error) {
	return s.entries(ctx, prefix, url.Values{"recurse": {"1"}})
}

func (s *KV) entries(ctx context.Context, key string, query url.Values) ([]Entry, error) {
	list, err := s.list(ctx, key, query)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(list))
	for _, v := range list {
		m, _ := v.(*data.Map)
		e := Entry{}
		var ok bool
		if e.Key, ok = m.Value("Key").(string); !ok {
			return nil, errForm
		}
		if text, ok := m.Value("Value").(string); ok {
			if e.Value, err = base64.StdEncoding.DecodeString(text); err != nil {
				return nil, errForm
			}
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Keys returns the keys that begin with a prefix, up to the first separator behind it.
func (s *KV) Keys(ctx context.Context, prefix, separator string) ([]string, error) {
	list, err := s.list(ctx, prefix, url.Values{"keys": {"1"}, "separator": {separator}})
	return data.TextsOf(list), err
}

var errForm = errors.New("the response is not a list of entries")

// list returns the list in a response, which is empty if there are no such keys.
func (s *KV) list(ctx context.Context, key string, query url.Values) ([]any, error) {
	a, err := s.request(ctx, "GET", key, query, nil)
	if err != nil {
		return nil, err
	}
	if a.Status == 404 {
		return nil, nil
	}
	if err := a.Err(); err != nil {
		return nil, err
	}
	v, err := a.JSON()
	if err != nil {
		return nil, err
	}
	list, ok := v.([]any)
	if !ok {
		return nil, errForm
	}
	return list, nil
}

// Put sets the value of a key.
func (s *KV) Put(ctx context.Context, key string, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	return s.change(ctx, "PUT", key, url.Values{}, value)
}

// Delete removes a key, or with tree all keys that begin with it.
func (s *KV) Delete(ctx context.Context, key string, tree bool) error {
	query := url.Values{}
	if tree {
		query.Set("recurse", "1")
	}
	return s.change(ctx, "DELETE", key, query, nil)
}

func (s *KV) change(ctx context.Context, method, key string, query url.Values, body []byte) error {
	a, err := s.request(ctx, method, key, query, body)
	if err == nil {
		err = a.Err()
	}
	if err == nil && strings.TrimSpace(string(a.Body)) != "true" {
		err = errors.New("the server refused the change")
	}
	return err
}
