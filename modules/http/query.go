package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileclient/web"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/version"
)

// A query is one call of http.query.
type query struct {
	env  *loader.Env
	url  string
	k    *data.Map // the arguments
	opts *data.Map
	ret  *data.Map
	jar  *jar // for persistent cookies; nil for none
}

func (q *query) truth(name string) bool { return data.Truth(q.k.Value(name)) }

// text returns an argument as a string, or "" if it is not given.
func (q *query) text(name string) string {
	if v := q.k.Value(name); v != nil {
		return data.Str(v)
	}
	return ""
}

// callbacks are the arguments for Python functions.
const callbacks = "streaming_callback header_callback"

func (q *query) run(ctx context.Context) (*data.Map, error) {
	for name := range strings.FieldsSeq(callbacks) {
		if q.truth(name) {
			return nil, fmt.Errorf("the argument %s of http.query is not supported", name)
		}
	}
	if q.truth("formdata") && !q.truth("formdata_fieldname") {
		q.ret.Set("error", "formdata_fieldname is required when formdata=True")
		return q.ret, nil
	}
	ctx, cancel := context.WithTimeout(ctx,
		seconds(q.opts.Value("http_request_timeout"), time.Hour))
	defer cancel()
	req, err := q.request(ctx)
	if err != nil {
		return nil, err
	}
	if q.k.Value("test") == true {
		if q.k.Value("test_url") == nil {
			return q.ret, nil
		}
		q.ret.Set("test", true)
		if req.URL, err = url.Parse(q.text("test_url")); err != nil {
			return nil, errors.New("the URL cannot be read")
		}
	}
	return q.send(req)
}

// send sends the request.
func (q *query) send(req *http.Request) (*data.Map, error) {
	if scheme := req.URL.Scheme; scheme != "http" && scheme != "https" {
		// Tornado's text
		return nil, errors.New("Unsupported url scheme: " + fileclient.Redact(req.URL.String()))
	}
	client, err := q.client()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	if q.k.Value("cookies") != nil {
		if q.jar, err = openJar(q.file("cookie_jar", "cookies.txt"),
			q.text("cookie_format") == "mozilla"); err != nil {
			return nil, err
		}
		client.Jar = q.jar
	}
	answer, err := client.Do(req)
	if err != nil {
		return q.failed(err), nil
	}
	defer answer.Body.Close()
	return q.answer(answer)
}

// file returns the path in an argument, or the path of a file in the minion's cache.
func (q *query) file(argument, name string) string {
	if path := q.text(argument); path != "" {
		return path
	}
	return q.env.Root + q.opts.Text("cachedir") + string(os.PathSeparator) + name
}

// failed returns the result for a request without a response.
func (q *query) failed(err error) *data.Map {
	code, text := int64(0), ""
	var dial *net.OpError
	switch bad := (net.Error)(nil); {
	case errors.As(err, &bad) && bad.Timeout() && errors.As(err, &dial) && dial.Op == "dial":
		code, text = 599, "HTTP 599: Timeout while connecting"
	case errors.As(err, &bad) && bad.Timeout():
		code, text = 599, "HTTP 599: Timeout during request"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		code, text = 599, "HTTP 599: Stream closed"
	default:
		text = cause(err)
	}
	if q.lenient() {
		return q.emptyResult()
	}
	if code != 0 || q.k.Value("status") == true {
		q.ret.Set("status", code)
	}
	q.ret.Set("error", text)
	return q.ret
}

// lenient reports whether failures are not errors.
func (q *query) lenient() bool {
	raise, given := q.k.Get("raise_error")
	return given && !data.Truth(raise)
}

// emptyResult returns the result for a missing response that is not an error.
func (q *query) emptyResult() *data.Map {
	q.ret.Set("body", nil)
	if q.k.Value("status") == true {
		q.ret.Set("status", int64(599))
	}
	if q.k.Value("headers") == true {
		q.ret.Set("headers", data.NewMap())
	}
	if q.k.Value("text") == true {
		q.ret.Set("text", nil)
	}
	return q.ret
}

// cause returns the text of an error without the URL, which may contain a password.
func cause(err error) string {
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err
	}
	return web.Reason(err)
}

// client returns an HTTP client configured by the minion's options and the arguments.
func (q *query) client() (*http.Client, error) {
	opts := q.opts.Clone()
	for _, name := range []string{"verify_ssl", "ca_bundle", "cert"} {
		if v := q.k.Value(name); v != nil {
			opts.Set(name, v)
		}
	}
	client, err := web.Client(opts)
	if err == nil {
		client.CheckRedirect = following(client.CheckRedirect)
	}
	if err != nil || opts.Value("cert") == nil {
		return client, err
	}
	transport, ok := client.Transport.(*http.Transport)
	if !ok {
		return nil, errors.New("the HTTP client does not support client certificates")
	}
	files := []any{opts.Value("cert"), opts.Value("cert")}
	if list, ok := opts.Value("cert").([]any); ok && len(list) == 2 {
		files = list
	}
	pair, err := tls.LoadX509KeyPair(data.Str(files[0]), data.Str(files[1]))
	if err != nil {
		return nil, fmt.Errorf("read the certificate for http.query: %w", err)
	}
	transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	return client, nil
}

// following returns a function that prepares redirected requests like Tornado: it sends no
// referrer, and after 301 it keeps method and body.
func following(
	check func(*http.Request, []*http.Request) error,
) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		req.Close = true
		req.Header.Del("Referer")
		last := via[len(via)-1]
		if req.Response != nil && req.Response.StatusCode == http.StatusMovedPermanently &&
			last.GetBody != nil {
			body, err := last.GetBody()
			if err != nil {
				return err
			}
			req.Method, req.Body, req.GetBody, req.ContentLength = last.Method, body, last.GetBody,
				last.ContentLength
			if kind := last.Header.Get("Content-Type"); kind != "" {
				req.Header.Set("Content-Type", kind)
			}
		}
		return check(req, via)
	}
}

func (q *query) request(ctx context.Context) (*http.Request, error) {
	method := "GET"
	if q.truth("method") {
		method = q.text("method")
	}
	address, err := concat(q.url, q.k.Value("params"))
	if err != nil {
		return nil, err
	}
	body, kind, err := q.body(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := url.Parse(address); err != nil {
		return nil, errors.New("the URL cannot be read") // an invalid part may contain a password
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New(cause(err))
	}
	req.Close = true
	all, err := q.headers(ctx)
	if err != nil {
		return nil, err
	}
	for name, value := range all.All() {
		req.Header.Set(data.Str(name), data.Str(value))
		if strings.EqualFold(data.Str(name), "Host") {
			req.Host = data.Str(value)
		}
	}
	switch {
	case kind != "":
		req.Header.Set("Content-Type", kind)
	case method == "POST" && req.Header.Get("Content-Type") == "":
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	q.authenticate(req)
	return req, nil
}

func (q *query) authenticate(req *http.Request) {
	if pair, ok := q.k.Value("auth").([]any); ok && len(pair) == 2 {
		req.SetBasicAuth(data.Str(pair[0]), data.Str(pair[1]))
	} else if req.URL.User == nil && q.k.Value("username") != nil {
		req.SetBasicAuth(q.text("username"), q.text("password"))
	}
}

// concat returns a URL with more query parameters.
func concat(address string, params any) (string, error) {
	if !data.Truth(params) {
		return address, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", errors.New("the URL cannot be read")
	}
	var pairs [][2]any
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if pair != "" {
			pairs = append(pairs, [2]any{unquoted(name), unquoted(value)})
		}
	}
	switch p := params.(type) {
	case *data.Map:
		for name, value := range p.All() {
			pairs = append(pairs, [2]any{name, value})
		}
	case []any:
		for _, one := range p {
			pair, ok := one.([]any)
			if !ok || len(pair) != 2 {
				return "", errors.New("not a valid non-string sequence or mapping object")
			}
			pairs = append(pairs, [2]any{pair[0], pair[1]})
		}
	default:
		return "", fmt.Errorf("'args' parameter should be dict, list or tuple. Not <class '%s'>",
			loader.TypeName(params))
	}
	u.RawQuery = encoded(pairs)
	return u.String(), nil
}

// unquoted decodes a part of a URL; invalid escapes stay.
func unquoted(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		return plain
	}
	return s
}

// encoded encodes pairs as form data, in their order.
func encoded(pairs [][2]any) string {
	all := make([]string, len(pairs))
	for i, pair := range pairs {
		all[i] = url.QueryEscape(data.Str(pair[0])) + "=" + url.QueryEscape(data.Str(pair[1]))
	}
	return strings.Join(all, "&")
}

// body returns the request body, and its content type if it is a form with a file.
func (q *query) body(ctx context.Context) (body []byte, kind string, err error) {
	v := q.k.Value("data")
	if file := q.k.Value("data_file"); file != nil {
		if v, err = q.rendered(ctx, data.Str(file), "data"); err != nil {
			return nil, "", err
		}
	}
	switch v := v.(type) {
	case nil:
	case []byte:
		body = v
	case *data.Map:
		var pairs [][2]any
		for name, value := range v.All() {
			pairs = append(pairs, [2]any{name, value})
		}
		body = []byte(encoded(pairs))
	default:
		body = []byte(data.Str(v))
	}
	if q.truth("formdata") {
		return form(q.text("formdata_fieldname"), q.text("formdata_filename"), body)
	}
	return body, "", nil
}

// form returns a form with a file.
func form(field, file string, content []byte) (body []byte, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "%0D", "\n", "%0A")
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {
		`form-data; name="` + quote.Replace(field) + `"; filename="` + quote.Replace(file) + `"`}})
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), w.FormDataContentType(), err
}

// rendered reads a file, and renders it as a template if requested.
func (q *query) rendered(ctx context.Context, path, what string) (any, error) {
	if !q.truth(what + "_render") {
		src, err := os.ReadFile(path)
		return string(src), err
	}
	renderer := q.text(what + "_renderer")
	if renderer == "" {
		renderer = q.opts.Text("renderer")
	}
	if renderer == "" {
		renderer = "jinja|yaml"
	}
	kwargs := data.NewMap("path", path, "default_renderer", renderer)
	if dict := q.k.Value("template_dict"); data.Truth(dict) {
		kwargs.Set("context", dict)
	}
	return q.env.Call(ctx, "slsutil.renderer", nil, kwargs)
}

// headers returns the headers of the request.
func (q *query) headers(ctx context.Context) (*data.Map, error) {
	dict, _ := q.k.Value("header_dict").(*data.Map)
	list, _ := q.k.Value("header_list").([]any)
	if file := q.k.Value("header_file"); file != nil {
		v, err := q.rendered(ctx, data.Str(file), "header")
		if err != nil {
			return nil, err
		}
		if found, ok := v.(*data.Map); ok {
			dict = found
		} else {
			list = nil
			for line := range strings.Lines(data.Str(v)) {
				list = append(list, line)
			}
		}
	}
	all := dict.Clone()
	if q.k.Value("persist_session") == true {
		if err := q.session().read(all); err != nil {
			return nil, err
		}
	}
	for _, line := range list {
		if name, value, ok := strings.Cut(data.Str(line), ":"); ok {
			all.Set(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	agent := "Salt/" + version.Salt()
	if own := q.text("agent"); own != "" && own != agent {
		agent = own
	} else {
		agent += " http.query()"
	}
	all.Set("User-agent", agent)
	return all, nil
}
