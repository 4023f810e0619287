// Package http is Salt's module http: requests to web servers (salt/modules/http.py, salt/utils/http.py).
//
// What differs: backends are not told apart; cookies, uploads of forms, streams and rendering of what is sent are not there and are
// refused; XML is not decoded.
package http

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/serializer"
)

//go:generate go run github.com/brineproject/brine/internal/docgen

// Plugin returns the module http.
func Plugin() loader.Plugin { return loader.Plugin{Name: "http", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("query", docQuery, m.query).Secret("password"),
		loader.F("update_ca_bundle", docUpdateCaBundle, m.updateCaBundle),
		loader.F("wait_for_successful_query", docWaitForSuccessfulQuery, m.waitForSuccessfulQuery).Secret("password"),
	}}, nil
}

type queryArgs struct {
	URL    string
	Kwargs *data.Map `kwargs:"kwargs"`
}

const (
	maxBody        = 100 << 20 // of an answer; http_max_body of the original
	requestTimeout = time.Hour // http_request_timeout of the original
)

// query sends a request and returns the answer: body, and status, headers, text and dict where they are asked for; error where it failed.
//
// method, params, data, data_file, header_dict, header_list
//
//	The request: its method, which is GET; what stands behind ? in the URL; its body, or a file that holds it; its headers.
//
// username, password
//
//	For basic authentication.
//
// status, headers, text, decode, decode_type
//
//	What to return; decode reads a body as json, yaml or plain, which its type tells where it is not said.
//
// ca_bundle, verify_ssl, cert, raise_error
//
//	Whom to trust; whether to check the server's certificate; a certificate of ours, or a list of it and its key; whether a status from
//	400 on is an error.
//
// CLI Example:
//
//	salt '*' http.query http://somelink.com/
//	salt '*' http.query http://somelink.com/ method=POST data='<xml>somecontent</xml>'
func (m *module) query(ctx context.Context, a queryArgs) (any, error) {
	ret, err := m.ask(ctx, a)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return ret, nil
}

// unsupported are arguments of the original that are refused where they are given.
const unsupported = "auth header_file cookies cookie_jar session_cookie_jar persist_session data_render header_render template_dict stream " +
	"streaming_callback header_callback handle formdata text_out headers_out decode_out"

func (m *module) ask(ctx context.Context, a queryArgs) (*data.Map, error) {
	k := a.Kwargs
	for name := range strings.FieldsSeq(unsupported) {
		if data.Truth(k.Value(name)) {
			return nil, fmt.Errorf("the argument %s of http.query is not supported", name)
		}
	}
	ret := data.NewMap()
	req, err := request(ctx, a)
	if err != nil {
		return nil, err
	}
	if data.Truth(k.Value("test")) {
		if !data.Truth(k.Value("test_url")) {
			return ret, nil
		}
		ret.Set("test", true)
		if req.URL, err = url.Parse(data.Str(k.Value("test_url"))); err != nil {
			return nil, err
		}
	}
	client, err := m.client(k)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	answer, err := client.Do(req)
	if err != nil {
		if data.Truth(k.Value("status")) {
			ret.Set("status", int64(0))
		}
		ret.Set("error", cause(err))
		return ret, nil
	}
	defer answer.Body.Close()
	return m.answer(ret, k, answer)
}

// cause returns an error without the URL, which may hold a password.
func cause(err error) string {
	if e, ok := err.(*url.Error); ok { //nolint:errorlint // what the client returns
		return e.Err.Error()
	}
	return err.Error()
}

func request(ctx context.Context, a queryArgs) (*http.Request, error) {
	k := a.Kwargs
	method := "GET"
	if v := k.Value("method"); data.Truth(v) {
		method = data.Str(v)
	}
	body := data.Str(k.Value("data"))
	switch v := k.Value("data").(type) {
	case nil:
		body = ""
	case *data.Map:
		body = values(v).Encode()
	}
	if v := k.Value("data_file"); data.Truth(v) {
		src, err := os.ReadFile(data.Str(v))
		if err != nil {
			return nil, err
		}
		body = string(src)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.URL, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if params, ok := k.Value("params").(*data.Map); ok && params.Len() > 0 {
		req.URL.RawQuery = strings.TrimPrefix(req.URL.RawQuery+"&"+values(params).Encode(), "&")
	}
	if _, form := k.Value("data").(*data.Map); form || method == "POST" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Header.Set("User-Agent", "Salt/3006.0")
	headers(req, k)
	return req, nil
}

func headers(req *http.Request, k *data.Map) {
	if list, ok := k.Value("header_list").([]any); ok {
		for _, line := range list {
			if name, value, ok := strings.Cut(data.Str(line), ":"); ok {
				req.Header.Set(strings.TrimSpace(name), strings.TrimSpace(value))
			}
		}
	}
	if dict, ok := k.Value("header_dict").(*data.Map); ok {
		for name, value := range dict.All() {
			req.Header.Set(data.Str(name), data.Str(value))
		}
	}
	if agent := k.Value("agent"); data.Truth(agent) {
		req.Header.Set("User-Agent", data.Str(agent))
	}
	if user := k.Value("username"); data.Truth(user) && k.Value("password") != nil {
		req.SetBasicAuth(data.Str(user), data.Str(k.Value("password")))
	}
}

func values(m *data.Map) url.Values {
	out := url.Values{}
	for k, v := range m.All() {
		out.Add(data.Str(k), data.Str(v))
	}
	return out
}

func (m *module) client(k *data.Map) (*http.Client, error) {
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	verify, given := k.Get("verify_ssl")
	if !given || verify == nil {
		verify, given = m.env.Opts.Get("verify_ssl")
	}
	conf.InsecureSkipVerify = given && verify != nil && !data.Truth(verify)
	if file := k.Value("ca_bundle"); data.Truth(file) {
		src, err := os.ReadFile(data.Str(file))
		if err != nil {
			return nil, err
		}
		if conf.RootCAs = x509.NewCertPool(); !conf.RootCAs.AppendCertsFromPEM(src) {
			return nil, fmt.Errorf("%s has no certificates", data.Str(file))
		}
	}
	if v := k.Value("cert"); data.Truth(v) {
		files := []any{v, v}
		if list, ok := v.([]any); ok && len(list) == 2 {
			files = list
		}
		pair, err := tls.LoadX509KeyPair(data.Str(files[0]), data.Str(files[1]))
		if err != nil {
			return nil, err
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Timeout: requestTimeout, Transport: &http.Transport{TLSClientConfig: conf, Proxy: http.ProxyFromEnvironment}}, nil
}

func (m *module) answer(ret, k *data.Map, answer *http.Response) (*data.Map, error) {
	code := int64(answer.StatusCode)
	if raise, given := k.Get("raise_error"); code >= 400 && (!given || data.Truth(raise)) {
		ret.Set("status", code)
		ret.Set("error", fmt.Sprintf("HTTP %d: %s", code, http.StatusText(answer.StatusCode)))
		return ret, nil
	}
	src, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	if err == nil && len(src) > maxBody {
		err = fmt.Errorf("the answer has more than %d bytes", maxBody)
	}
	if err != nil {
		ret.Set("error", err.Error())
		return ret, nil
	}
	body := string(src)
	ret.Set("body", body)
	if data.Truth(k.Value("status")) {
		ret.Set("status", code)
	}
	if data.Truth(k.Value("headers")) {
		all := data.NewMap()
		for name, list := range answer.Header {
			all.Set(name, strings.Join(list, ","))
		}
		ret.Set("headers", all)
	}
	text := data.Truth(k.Value("text"))
	if k.Value("decode") == true {
		plain, err := decode(ret, body, data.Str(k.Value("decode_type")), answer.Header.Get("Content-Type"))
		if err != nil {
			return nil, err
		}
		text = text || plain
	}
	if text {
		ret.Set("text", body)
	}
	return ret, nil
}

// decode reads a body as a value, and reports whether it is plain text.
func decode(ret *data.Map, body, kind, contentType string) (plain bool, err error) {
	if kind == "" || kind == "None" || kind == "auto" {
		kind = "plain"
		for _, known := range []string{"yaml", "json", "xml"} {
			if strings.Contains(contentType, known) || contentType == "" && known == "json" {
				kind = known
			}
		}
	}
	switch kind {
	case "json", "yaml":
		v, err := serializer.Read(kind, body, nil)
		ret.Set("dict", v)
		return false, err
	case "xml":
		return false, fmt.Errorf("decoding of xml is not supported")
	case "plain":
		return true, nil
	}
	ret.Set("error", "Invalid decode_type specified. Valid decode types are: ('json', 'xml', 'yaml', 'plain')")
	return false, nil
}

type waitArgs struct {
	URL     string
	WaitFor any       `default:"300"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// waitForSuccessfulQuery sends a request until it succeeds, for wait_for seconds, with request_interval seconds between. It returns the
// last answer. The other arguments are as in http.query.
//
// CLI Example:
//
//	salt '*' http.wait_for_successful_query http://somelink.com/ wait_for=160 request_interval=1
func (m *module) waitForSuccessfulQuery(ctx context.Context, a waitArgs) (any, error) {
	end := time.Now().Add(seconds(a.WaitFor))
	pause := max(seconds(a.Kwargs.Value("request_interval")), 100*time.Millisecond)
	for {
		v, err := m.query(ctx, queryArgs{a.URL, a.Kwargs})
		ret, _ := v.(*data.Map)
		if err == nil && !data.Truth(ret.Value("error")) || time.Now().After(end) {
			return v, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func seconds(v any) time.Duration {
	switch n := v.(type) {
	case int64:
		return time.Duration(n) * time.Second
	case float64:
		return time.Duration(n * float64(time.Second))
	}
	return 0
}

type bundleArgs struct {
	Target     any `default:"None"`
	Source     any `default:"None"`
	MergeFiles any `default:"None"`
}

// updateCaBundle is refused: the certificates that a host trusts come with its packages.
//
// CLI Example:
//
//	salt '*' http.update_ca_bundle
func (m *module) updateCaBundle(context.Context, bundleArgs) (any, error) {
	return nil, loader.Execution("http.update_ca_bundle is not supported: install the package ca-certificates of the system")
}
