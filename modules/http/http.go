// Package http is Salt's module http: requests to web servers (salt/modules/http.py, salt/utils/http.py).
//
// What differs: backends are not told apart, and each argument works with all of them: cookies are sent as well as kept, forms are
// uploaded, proxies are asked. A response that is compressed is read. Functions of Python cannot be given, so streaming_callback and
// header_callback are refused; stream and handle return the body alone. A test with test_url asks that URL. Values of header_list may
// hold colons. A bundle of certificates is replaced only by one that has certificates.
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
		loader.F("query", m.query).Secret("password", "auth", "data", "header_dict", "header_list", "params"),
		loader.F("update_ca_bundle", m.updateCaBundle),
		loader.F("wait_for_successful_query", m.waitForSuccessfulQuery).
			Secret("password", "auth", "data", "header_dict", "header_list", "params"),
	}}, nil
}

type queryArgs struct {
	URL    string
	Kwargs *data.Map `kwargs:"kwargs"`
}

// query sends a request and returns the answer: body, and status, headers, text and dict where they are asked for; error where it failed.
//
// method, params, data, data_file, header_dict, header_list, header_file, agent
//
//	The request: its method, which is GET; what stands behind ? in the URL; its body, or a file that holds it; its headers, or a file
//	of them; the name of the client.
//
// data_render, data_renderer, header_render, header_renderer, template_dict
//
//	Whether data_file and header_file are templates; their pipes, which are the option renderer; the variables of both.
//
// username, password, auth
//
//	For basic authentication; auth is a list of both.
//
// cookies, cookie_jar, cookie_format, persist_session, session_cookie_jar
//
//	Whether cookies that last are sent and kept; their file, cookies.txt in the cache of the minion; its format, lwp or mozilla;
//	whether cookies of a session are sent and kept, in the file session_cookie_jar.
//
// formdata, formdata_fieldname, formdata_filename
//
//	Whether data goes as a file of a form; the names of its field and of the file.
//
// status, headers, text, decode, decode_type, decode_body
//
//	What to return; decode reads a body as json, xml, yaml or plain, which its type tells where it is not said; without decode_body
//	the body stays bytes.
//
// text_out, headers_out, decode_out
//
//	Files to write the text, the headers (where the file is there) and the text that was decoded to.
//
// ca_bundle, verify_ssl, cert, raise_error
//
//	Whom to trust; whether to check the server's certificate; a certificate of ours, or a list of it and its key; whether a status
//	that is no success is an error.
//
// test, test_url
//
//	Whether to ask nothing, or this URL alone.
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

// waitForSuccessfulQuery sends a request until it succeeds, for wait_for seconds, with request_interval seconds between. It returns the
// last answer. The other arguments are as in http.query.
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
