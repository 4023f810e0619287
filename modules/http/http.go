// Package http is Salt's module http: requests to web servers (salt/modules/http.py,
// salt/utils/http.py).
//
// Differences from Salt: backends are not distinguished, and all arguments work: cookies are sent
// as well as stored, forms are uploaded, and proxies are used. Compressed responses are
// decompressed. Python functions cannot be passed, so streaming_callback and header_callback are
// rejected; stream and handle return only the body. A test with test_url requests that URL. Values
// in header_list may contain colons. A certificate bundle is replaced only by one that contains
// certificates.
package http

import (
	"context"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
)

// Plugin returns the module http.
func Plugin() loader.Plugin { return loader.Plugin{Name: "http", New: newModule} }

type module struct{ env *loader.Env }

func newModule(env *loader.Env) (*loader.Module, error) {
	m := &module{env}
	return &loader.Module{Funcs: []loader.Func{
		loader.F("query", m.query).Secret("password", "auth", "data", "header_dict",
			"header_list", "params"),
		loader.F("update_ca_bundle", m.updateCaBundle),
		loader.F("wait_for_successful_query", m.waitForSuccessfulQuery).
			Secret("password", "auth", "data", "header_dict", "header_list", "params"),
	}}, nil
}

type queryArgs struct {
	URL    string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// query sends a request and returns the response: body, and if requested status, headers, text and
// dict; error if the request failed.
//
// method, params, data, data_file, header_dict, header_list, header_file, agent
//
//	The request: its method, GET by default; the query string; the body, or a file with the body;
//	the headers, or a file with headers; the user agent.
//
// data_render, data_renderer, header_render, header_renderer, template_dict
//
//	Whether data_file and header_file are templates; their renderers, by default the option
//	renderer; the variables for both.
//
// username, password, auth
//
//	For basic authentication; auth is a list of user name and password.
//
// cookies, cookie_jar, cookie_format, persist_session, session_cookie_jar
//
//	Whether persistent cookies are sent and stored; their file, cookies.txt in the minion's cache;
//	its format, lwp or mozilla; whether session cookies are sent and stored, in the file
//	session_cookie_jar.
//
// formdata, formdata_fieldname, formdata_filename
//
//	Whether data is uploaded as a file in a form; the names of the form field and the file.
//
// status, headers, text, decode, decode_type, decode_body
//
//	What to return. decode parses the body as json, xml, yaml or plain, by default according to its
//	content type; without decode_body the body stays bytes.
//
// text_out, headers_out, decode_out
//
//	Files to write the text, the headers (only if the file exists) and the decoded text to.
//
// ca_bundle, verify_ssl, cert, raise_error
//
//	The trusted certificates; whether to verify the server's certificate; a client certificate, or a
//	list of it and its key; whether a status other than success is an error.
//
// test, test_url
//
//	Whether to send no request, or only one to this URL.
//
// CLI Example:
//
//	salt '*' http.query http://somelink.com/
//	salt '*' http.query http://somelink.com/ method=POST params='{"key1": "val1", "key2": "val2"}'
//	salt '*' http.query http://somelink.com/ method=POST data='<xml>somecontent</xml>'
func (m *module) query(ctx context.Context, a queryArgs) (any, error) {
	k := a.Kwargs
	opts := m.env.Opts
	if more, ok := k.Value("opts").(*data.Map); ok {
		opts = opts.Clone()
		opts.Update(more)
	}
	q := &query{env: m.env, url: a.URL, k: k, opts: opts, ret: data.NewMap()}
	ret, err := q.run(ctx)
	if err != nil {
		return nil, loader.Execution("%w", err)
	}
	return ret, nil
}

type waitArgs struct {
	URL     string
	WaitFor any       `default:"300"`
	Kwargs  *data.Map `kwargs:"kwargs"`
}

// waitForSuccessfulQuery repeats a request until it succeeds, for at most wait_for seconds, every
// request_interval seconds. It returns the last response. The other arguments are as in http.query.
//
// CLI Example:
//
//	salt '*' http.wait_for_successful_query http://somelink.com/ wait_for=160 request_interval=1
func (m *module) waitForSuccessfulQuery(ctx context.Context, a waitArgs) (any, error) {
	end := time.Now().Add(seconds(a.WaitFor, 0))
	pause := max(seconds(a.Kwargs.Value("request_interval"), 0), 100*time.Millisecond)
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

func seconds(v any, usual time.Duration) time.Duration {
	switch n := v.(type) {
	case int64:
		return time.Duration(n) * time.Second
	case float64:
		return time.Duration(n * float64(time.Second))
	}
	return usual
}
