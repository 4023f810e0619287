// Package rest authenticates users with a web service (salt/auth/rest.py). It posts username and
// password as a form. The service replies 200 to a valid login, optionally with a JSON list of
// rights, which are added to those under the user's name.
//
//	external_auth:
//	  rest:
//	    ^url: https://login.example.org/salt
//
// The service returns rights only with the password, so tokens need keep_acl_in_token, which this
// system turns on.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

const (
	maxReply = 1 << 20 // bytes
	patience = 15 * time.Second
)

type service struct {
	url    string
	users  *data.Map // external_auth: rest
	client *http.Client
}

var (
	_ auth.System = (*service)(nil)
	_ auth.Ruler  = (*service)(nil)
)

// Open returns the system described by external_auth: rest. Redirects are not followed, since they
// would forward the password.
func Open(opts *data.Map) (auth.System, error) {
	all, _ := opts.Value("external_auth").(*data.Map)
	own, _ := all.Value("rest").(*data.Map)
	address := auth.Settings(own).Text("url")
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("^url is missing, or no address of a web service")
	}
	client := &http.Client{Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &service{address, own, client}, nil
}

// Login reports whether the service replies 200.
func (s *service) Login(ctx context.Context, l auth.Login) (bool, error) {
	_, ok, err := s.ask(ctx, l)
	return ok, err
}

// Rules returns the rights under the user's name and those returned by the service. If there are
// none, those of groups and of * apply.
func (s *service) Rules(ctx context.Context, l auth.Login) (list []any, ok bool, err error) {
	given, ok, err := s.ask(ctx, l)
	if err != nil || !ok {
		return nil, false, err
	}
	own, _ := s.users.Value(l.Name).([]any)
	list = append(append([]any{}, own...), given...)
	return list, len(list) > 0, nil
}

func (s *service) ask(ctx context.Context, l auth.Login) (rights []any, ok bool, err error) {
	form := url.Values{"username": {l.Name}, "password": {l.Password}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(form))
	if err != nil {
		return nil, false, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	reply, err := s.client.Do(r)
	if err != nil {
		return nil, false, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return nil, false, nil
	}
	body, err := io.ReadAll(io.LimitReader(reply.Body, maxReply+1))
	if err != nil || len(body) > maxReply {
		return nil, false, fmt.Errorf("read the reply of %s: %w", s.url,
			errors.Join(err, errors.New("it is cut short, or too long")))
	}
	rights, err = parse(body)
	return rights, err == nil, err
}

// parse parses a JSON list of rights. An empty reply and null are empty lists.
func parse(body []byte) ([]any, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return nil, fmt.Errorf("rights: %w", err)
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []any:
		return convert(v).([]any), nil
	}
	return nil, errors.New("rights: the reply is no list")
}

// convert converts nested maps to those of package data.
func convert(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = convert(item)
		}
		return list
	case map[string]any:
		m := data.NewMap()
		for k, item := range v {
			m.Set(k, convert(item))
		}
		return m
	}
	return v
}
