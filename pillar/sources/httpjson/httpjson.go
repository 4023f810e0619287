// Package httpjson is Salt's external pillars http_json and http_yaml: a document of a web server
// (salt/pillar/http_json.py, http_yaml.py).
//
//	ext_pillar:
//	  - http_json:
//	      url: https://cmdb.example.com/hosts/%s   # the minion's id; with_grains: True also takes <GRAIN>
//	      username: salt
//	      password: secret
//	      header_dict: {X-Token: secret}
//	      namespace: cmdb                          # of http_json alone
//
// Package fileclient/web describes the options for connections. Differences: a response is limited
// to 32 MiB and to a minute, or less with http_request_timeout. auth is a user and a password;
// other kinds are not supported. After a redirect to another server neither these nor header_dict
// are sent. In an address %s and <GRAIN> may only follow the server's name, and values with a part
// .. are rejected. The minion does not see the content of an unparsable response, and logs contain
// only the path of an address.
package httpjson

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient/web"
	"github.com/brineproject/brine/internal/pyjson"
	"github.com/brineproject/brine/pillar"
	"github.com/brineproject/brine/version"
	"github.com/brineproject/brine/yaml"
)

// Limits of one request.
const (
	maxBody  = 32 << 20
	patience = time.Minute
	places   = 16
)

// A Source is the external pillar http_json or http_yaml.
type Source struct {
	name   string
	places chan struct{}
}

// JSON returns the source http_json.
func JSON() *Source { return &Source{"http_json", make(chan struct{}, places)} }

// YAML returns the source http_yaml.
func YAML() *Source { return &Source{"http_yaml", make(chan struct{}, places)} }

var _ pillar.Checker = (*Source)(nil)

// Name implements pillar.Source.
func (s *Source) Name() string { return s.name }

// A entry holds the arguments of an entry.
type entry struct {
	url            string
	grains         bool
	header         *data.Map
	user, password string
	namespace      any
}

func (s *Source) read(argument any) (*entry, error) {
	params := []string{"url", "with_grains", "header_dict", "auth", "username",
		"password", "namespace"}
	if s.name == "http_yaml" {
		params = params[:6]
	}
	args, err := pillar.Bind(argument, 1, params...)
	if err != nil {
		return nil, err
	}
	q := &entry{grains: data.Truth(args.Value("with_grains")), user: word(args, "username"),
		password:  word(args, "password"),
		namespace: args.Value("namespace")}
	var ok bool
	if q.url, ok = args.Value("url").(string); !ok {
		return nil, errors.New("url: expected an address")
	}
	if q.header, ok = args.Value("header_dict").(*data.Map); !ok &&
		data.Truth(args.Value("header_dict")) && args.Text("header_dict") != "None" {
		return nil, errors.New("header_dict: expected a dictionary")
	}
	if !data.Hashable(q.namespace) {
		return nil, errors.New("namespace: expected a text")
	}
	return q, q.auth(args.Value("auth"))
}

// word returns a text argument; None is empty.
func word(args *data.Map, name string) string {
	v := args.Value(name)
	if v == nil || v == "None" {
		return ""
	}
	return data.Str(v)
}

// auth parses a list of a user and a password.
func (q *entry) auth(v any) error {
	if !data.Truth(v) || v == "None" {
		return nil
	}
	pair, ok := v.([]any)
	if !ok || len(pair) != 2 {
		return errors.New("auth: expected a list of a user and a password")
	}
	q.user, q.password = data.Str(pair[0]), data.Str(pair[1])
	return nil
}

// Check implements pillar.Checker.
func (s *Source) Check(argument any, _ *data.Map) error {
	q, err := s.read(argument)
	if err != nil {
		return err
	}
	if u, err := url.Parse(strings.ReplaceAll(q.url, "%s", "x")); err != nil ||
		u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("url: expected an address of http or https")
	}
	return q.checkServer()
}

// checkServer returns an error if a minion could influence which server is contacted.
func (a *entry) checkServer() error {
	_, rest, _ := strings.Cut(a.url, "://")
	server := rest
	if at := strings.IndexAny(rest, `/\?#`); at >= 0 {
		server = rest[:at]
	}
	if strings.Contains(server, "%s") || a.grains && strings.Contains(server, "<") {
		return errors.New("url: %s and <GRAIN> may only follow the server's name")
	}
	return nil
}

// Pillar implements pillar.Source.
func (s *Source) Pillar(ctx context.Context, q pillar.Query) (*data.Map, error) {
	args, err := s.read(q.Argument)
	if err != nil {
		return nil, err
	}
	if err := args.checkServer(); err != nil {
		return nil, err
	}
	address, ok, err := args.address(q)
	if err != nil || !ok {
		return nil, err
	}
	v, err := s.get(ctx, q, address, args)
	if err != nil || v == nil {
		return nil, err
	}
	if data.Truth(args.namespace) {
		return data.NewMap(args.namespace, v), nil
	}
	m, ok := v.(*data.Map)
	if !ok && data.Truth(v) {
		return nil, errors.New("the response is not a dictionary")
	}
	return m, nil
}

var grainPlace = regexp.MustCompile(`<(.*?)>`)

// address returns the URL for a minion; ok is false if it lacks a grain. A value with a part .. is
// an error.
func (a *entry) address(q pillar.Query) (address string, ok bool, err error) {
	if strings.Contains(a.url, "%s") && escapes(q.ID) {
		return "", false, errors.New("the minion's id has a part . or .., which is not for an address")
	}
	address = strings.ReplaceAll(a.url, "%s", quote(q.ID))
	if !a.grains {
		return address, true, nil
	}
	for _, place := range grainPlace.FindAllStringSubmatch(address, -1) {
		v, _ := data.Lookup(q.Grains, place[1], ":")
		if !data.Truth(v) {
			q.Log.Errorf("Unable to get minion '%s' grain: %s", q.ID, place[1])
			return "", false, nil
		}
		if escapes(data.Str(v)) {
			return "", false, fmt.Errorf("the grain %s has a part . or .., which is not for an address", place[1])
		}
		address = strings.ReplaceAll(address, place[0], quote(data.Str(v)))
	}
	return address, true, nil
}

// escapes reports whether a value could lead out of the directory at its place.
func escapes(s string) bool {
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == '\\' })
	return slices.Contains(parts, "..") || slices.Contains(parts, ".")
}

// quote is urllib.parse.quote of Python: slashes stay.
func quote(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(s), "+", "%20"), "%2F", "/")
}

// get returns the document at an address. If the request fails, that is logged and the result is
// nil.
func (s *Source) get(
	ctx context.Context, q pillar.Query, address string, args *entry,
) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, limit(q.Opts))
	defer cancel()
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return nil, errors.New("too many requests are under way")
	}
	body, err := fetch(ctx, q.Opts, address, args)
	if err != nil {
		q.Log.Errorf("Error on minion '%s' http query: %s\nMore Info:\n", q.ID, publicPart(address))
		q.Log.Errorf("error: %s", err)
		return nil, nil
	}
	return s.document(body)
}

func (s *Source) document(body []byte) (any, error) {
	if s.name == "http_yaml" {
		v, err := yaml.Load(body, yaml.Options{})
		if err != nil {
			return nil, errors.New("the answer is not YAML")
		}
		return v, nil
	}
	v, err := pyjson.Load(string(body))
	if err != nil {
		return nil, errors.New("the answer is not JSON")
	}
	return v, nil
}

// fetch returns the body of a response. The error shows nothing of the address.
func fetch(ctx context.Context, opts *data.Map, address string, args *entry) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("the address cannot be read")
	}
	r.Header.Set("User-Agent", "Salt/"+version.Salt()+" http.query()")
	for name, value := range args.header.All() {
		r.Header.Set(data.Str(name), data.Str(value))
	}
	if args.user != "" {
		r.SetBasicAuth(args.user, args.password)
	}
	client, err := web.Client(opts)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	client.CheckRedirect = args.dropCredentials(client.CheckRedirect)
	answer, err := client.Do(r)
	if err != nil {
		if about, ok := errors.AsType[*url.Error](err); ok {
			err = about.Err
		}
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return nil, fmt.Errorf("HTTP %s", answer.Status)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = fmt.Errorf("the answer has more than %d bytes", maxBody)
	}
	return body, err
}

// dropCredentials wraps follow, the function for redirects. It removes credentials and headers from
// requests to another server.
func (a *entry) dropCredentials(
	follow func(*http.Request, []*http.Request) error,
) func(*http.Request, []*http.Request) error {
	return func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
			r.Header.Del("Authorization")
			for name := range a.header.All() {
				r.Header.Del(data.Str(name))
			}
		}
		return follow(r, via)
	}
}

// limit returns the timeout of a request.
func limit(opts *data.Map) time.Duration {
	d := patience
	switch v := opts.Value("http_request_timeout").(type) {
	case int64:
		d = time.Duration(min(v, 3600)) * time.Second
	case float64:
		d = time.Duration(min(v, 3600) * float64(time.Second))
	}
	return min(max(d, 0), patience)
}

// publicPart returns an address without parts that may be secret.
func publicPart(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "?"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
