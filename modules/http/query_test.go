package http_test

import (
	"compress/gzip"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/fileserver"
	"github.com/brineproject/brine/fileserver/roots"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cp"
	module "github.com/brineproject/brine/modules/http"
	"github.com/brineproject/brine/modules/slsutil"
	"github.com/brineproject/brine/render"
	stdrender "github.com/brineproject/brine/render/standard"
)

const document = `<?xml version="1.0" encoding="latin-1"?><r xmlns="urn:x"><a>1</a><!--c--><b x="y"><c>2</c><c>3</c><d/><c><e>4</e></c></b>` +
	`<f>t<g/>u</f> <h>a<!-- z -->b</h></r>`

// answers returns the responses of the test server: header, value, body.
func answers(path string) (name, value, body string) {
	switch path {
	case "/xml":
		return "Content-Type", "text/xml", document
	case "/yaml":
		return "Content-Type", "application/x-yaml", "a: [1, 2]\n"
	case "/badjson":
		return "Content-Type", "application/json", "{nope"
	case "/badxml":
		return "Content-Type", "text/xml", "<r><a></r>"
	case "/latin":
		return "Content-Type", "text/plain; charset=iso-8859-1", "caf\xe9"
	case "/odd":
		return "Content-Type", "text/plain; charset=klingon", "x"
	case "/bytes":
		return "Content-Type", "application/octet-stream", "\xff\xfe"
	}
	return "Content-Type", "text/plain", "hello"
}

func handle(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch r.URL.Path {
	case "/echo":
		w.Header().Set("Content-Type", "application/json")
		headers := map[string]string{}
		for name := range r.Header {
			headers[name] = r.Header.Get(name)
		}
		json.NewEncoder(w).Encode(map[string]any{"m": r.Method, "p": r.URL.String(), "h": headers,
			"b": string(body)})
	case "/404", "/304", "/499":
		code, _ := strconv.Atoi(r.URL.Path[1:])
		w.WriteHeader(code)
	case "/loop", "/moved":
		w.Header().Set("Location", map[string]string{"/loop": "/loop", "/moved": "/echo"}[r.URL.Path])
		w.WriteHeader(map[string]int{"/loop": 302, "/moved": 301}[r.URL.Path])
	case "/cookie":
		for _, c := range []string{"sid=abc; Path=/",
			"last=v; Expires=Fri, 01 Jan 2038 00:00:00 GMT; Path=/",
			"other=x; Domain=.example.com; Max-Age=99999"} {
			w.Header().Add("Set-Cookie", c)
		}
	case "/gone":
		w.Header().Set("Set-Cookie", "last=; Max-Age=0; Path=/")
	case "/gzip":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write([]byte("zipped"))
		z.Close()
	case "/close":
		panic(http.ErrAbortHandler)
	default:
		name, value, body := answers(r.URL.Path)
		w.Header().Set(name, value)
		io.WriteString(w, body)
	}
}

// serve returns the address of a server, and the modules with a cache below a directory.
func serve(t *testing.T, opts ...any) (address, dir string, funcs *loader.Registry) {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(handle))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	dir = t.TempDir()
	all := data.NewMap("cachedir", dir, "file_client", "local",
		"fileserver_backend", []any{"roots"}, "file_roots", data.NewMap("base", []any{dir}))
	all.Update(data.NewMap(opts...))
	b := render.Brought{Renderers: stdrender.Renderers(),
		Files: fileclient.Brought{Local: fileclient.OwnServer(fileserver.Makers{"roots": roots.Make})}}
	funcs, err := loader.NewRegistry(&loader.Env{Opts: all},
		[]loader.Plugin{module.Plugin(), cp.Plugin(b), slsutil.Plugin(b)})
	if err != nil {
		t.Fatal(err)
	}
	return s.URL, dir, funcs
}

// TestQuery compares results with those of Salt 3006.0 for the same server.
func TestQuery(t *testing.T) {
	address, _, funcs := serve(t)
	agent := `"User-Agent":"Salt/3006.18 http.query()"`
	for _, c := range []struct {
		path string
		args []any
		want string
	}{
		{"/echo", nil, `{'body': '{"b":"","h":{"Connection":"close",` + agent +
			`},"m":"GET","p":"/echo"}\n'}`},
		{"/echo?x=1&y=", []any{"params", data.NewMap("k", "v w", "b", int64(1))},
			`{'body': '{"b":"","h":{"Connection":"close",` + agent +
				`},"m":"GET","p":"/echo?x=1\\u0026y=\\u0026k=v+w\\u0026b=1"}\n'}`},
		{"/echo", []any{"params", "abc"},
			"'args' parameter should be dict, list or tuple. Not <class 'str'>"},
		{"/echo", []any{"method", "POST", "data", data.NewMap("z", "1", "a", "x y")},
			`{'body': '{"b":"z=1\\u0026a=x+y","h":{"Connection":"close","Content-Length":"9","Content-Type":"application/x-www-form-urlencoded",` + agent + `},"m":"POST","p":"/echo"}\n'}`},
		{"/echo", []any{"method", "PUT", "data", data.NewMap("z", "1")},
			`{'body': '{"b":"z=1","h":{"Connection":"close","Content-Length":"3",` + agent +
				`},"m":"PUT","p":"/echo"}\n'}`},
		{"/echo", []any{"header_list", []any{"X-A: 1", "bad", "X-B:  z"}, "agent", "me"},
			`{'body': '{"b":"","h":{"Connection":"close","User-Agent":"me","X-A":"1","X-B":"z"},"m":"GET","p":"/echo"}\n'}`},
		{"/echo", []any{"username", "u"},
			`{'body': '{"b":"","h":{"Authorization":"Basic dTo=","Connection":"close",` + agent +
				`},"m":"GET","p":"/echo"}\n'}`},
		{"/echo", []any{"auth", []any{"u", "p"}},
			`{'body': '{"b":"","h":{"Authorization":"Basic dTpw","Connection":"close",` + agent +
				`},"m":"GET","p":"/echo"}\n'}`},
		{"/xml", []any{"decode", true}, "{'body': '" + strings.ReplaceAll(document, "'", `\'`) +
			"', 'dict': [{'a': '1'}, {'c': ['2', {'c': '3'}, {'e': '4'}], 'd': None}, {'g': None}, {'h': 'ab'}]}"},
		{"/badxml", []any{"decode", true}, "parse the response as XML"},
		{"/yaml", []any{"decode", true}, `{'body': 'a: [1, 2]\n', 'dict': {'a': [1, 2]}}`},
		{"/badjson", []any{"decode", true},
			"Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"},
		{"/plain", []any{"decode", true, "decode_type", "nope"},
			`{'body': 'hello', 'error': "Invalid decode_type specified. Valid decode types are: ('json', 'xml', 'yaml', 'plain')"}`},
		{"/plain", []any{"decode", true}, `{'body': 'hello', 'text': 'hello'}`},
		{"/latin", nil, `{'body': 'café'}`},
		{"/odd", nil, "unknown encoding: klingon"},
		{"/bytes", nil, "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"},
		{"/bytes", []any{"decode_body", false}, `{'body': b'\xff\xfe'}`},
		{"/bytes", []any{"handle", true}, `{'body': b'\xff\xfe'}`},
		{"/gzip", []any{"text", true}, `{'body': 'zipped', 'text': 'zipped'}`},
		{"/404", nil, `{'status': 404, 'error': 'HTTP 404: Not Found'}`},
		{"/404", []any{"raise_error", false, "status", true}, `{'body': '', 'status': 404}`},
		{"/304", nil, `{'status': 304, 'error': 'HTTP 304: Not Modified'}`},
		{"/499", nil, `{'status': 499, 'error': 'HTTP 499: Unknown'}`},
		{"/loop", nil, `{'status': 302, 'error': 'HTTP 302: Found'}`},
		{"/moved", []any{"method", "POST", "data", "q"},
			`{'body': '{"b":"q","h":{"Connection":"close","Content-Length":"1","Content-Type":"application/x-www-form-urlencoded",` + agent + `},"m":"POST","p":"/echo"}\n'}`},
		{"/close", nil, `{'status': 599, 'error': 'HTTP 599: Stream closed'}`},
		{"/close", []any{"raise_error", false, "status", true}, `{'body': None, 'status': 599}`},
		{"/echo", []any{"test", true}, `{}`},
		{"/404", []any{"test", true, "test_url", address + "/plain"}, `{'test': True, 'body': 'hello'}`},
		{"/echo", []any{"formdata", true}, `{'error': 'formdata_fieldname is required when formdata=True'}`},
		{"/echo", []any{"header_callback", "f"},
			"the argument header_callback of http.query is not supported"},
	} {
		for range 2 { // a second request has the same response
			v, err := funcs.Invoke(t.Context(), "http.query", []any{address + c.path}, data.NewMap(c.args...))
			got := data.Repr(v)
			if err != nil {
				got = err.Error()
			}
			if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
				t.Errorf("%s %v:\n got %s\nwant %s", c.path, c.args, got, c.want)
			}
		}
	}
}

func ask(t *testing.T, funcs *loader.Registry, address string, args ...any) *data.Map {
	t.Helper()
	v, err := funcs.Invoke(t.Context(), "http.query", []any{address}, data.NewMap(args...))
	if err != nil {
		t.Fatalf("%s %v: %v", address, args, err)
	}
	return v.(*data.Map)
}

func TestRejected(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String() + "/"
	l.Close()
	_, _, funcs := serve(t)
	for want, args := range map[string][]any{
		`{'error': '[Errno 111] Connection refused'}`:              nil,
		`{'status': 0, 'error': '[Errno 111] Connection refused'}`: {"status", true},
		`{'body': None, 'status': 599}`:                            {"status", true, "raise_error", false},
	} {
		if got := data.Repr(ask(t, funcs, address, args...)); got != want {
			t.Errorf("%v: got %s, want %s", args, got, want)
		}
	}
}

func TestTimeout(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // never responds
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, _, funcs := serve(t, "http_request_timeout", 0.05)
	if got := data.Repr(ask(t, funcs, "http://"+
		l.Addr().String())); got != `{'status': 599, 'error': 'HTTP 599: Timeout during request'}` {
		t.Error(got)
	}
}

func TestMaxBody(t *testing.T) {
	address, _, funcs := serve(t, "http_max_body", int64(4))
	if got := ask(t, funcs, address+"/plain").Text("error"); got != "the response is larger than 4 bytes" {
		t.Error(got)
	}
}

func TestProxy(t *testing.T) {
	address, _, _ := serve(t)
	u, _ := url.Parse(address)
	port, _ := strconv.ParseInt(u.Port(), 10, 64)
	_, _, funcs := serve(t, "proxy_host", u.Hostname(), "proxy_port", port, "proxy_username", "u",
		"proxy_password", "p")
	got := ask(t, funcs, "http://nowhere.invalid/echo").Text("body")
	if !strings.Contains(got, `"p":"http://nowhere.invalid/echo"`) ||
		!strings.Contains(got, `"Proxy-Authorization":"Basic dTpw"`) {
		t.Errorf("the proxy was not asked: %s", got)
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

func TestFilesOfRequest(t *testing.T) {
	address, dir, funcs := serve(t)
	body := write(t, filepath.Join(dir, "body"), "a: {{ n }}\n")
	headers := write(t, filepath.Join(dir, "headers"), "X-H: one\nX-I: two:three\n")
	for _, c := range []struct {
		args []any
		want string
	}{
		{[]any{"method", "POST", "data_file", body}, `"b":"a: {{ n }}\n"`},
		{[]any{"header_file", headers}, `"X-H":"one","X-I":"two:three"`},
		{[]any{"method", "POST", "data", "content", "formdata", true, "formdata_fieldname", "f",
			"formdata_filename", "n.txt"},
			`Content-Disposition: form-data; name=\"f\"; filename=\"n.txt\"\r\n\r\ncontent\r\n--`},
		{[]any{"method", "POST", "data", "content", "formdata", true, "formdata_fieldname", "f",
			"formdata_filename", "n.txt"},
			`"Content-Type":"multipart/form-data; boundary=`},
		{[]any{"method", "POST", "data_file", body, "data_render", true,
			"template_dict", data.NewMap("n", "N")}, `"b":"a=N"`},
		{[]any{"method", "POST", "data_file", body, "data_render", true, "data_renderer", "jinja",
			"template_dict", data.NewMap("n", "N")}, `"b":"a: N\n"`},
		{[]any{"header_file", write(t, filepath.Join(dir, "template"), "X-T: {{ n }}\n"),
			"header_render", true, "template_dict", data.NewMap("n", "N")}, `"X-T":"N"`},
	} {
		if got := ask(t, funcs, address+"/echo", c.args...).Text("body"); !strings.Contains(got, c.want) {
			t.Errorf("%v: got %s, want %s", c.args, got, c.want)
		}
	}
}

func TestOutputFiles(t *testing.T) {
	address, dir, funcs := serve(t)
	text, headers, none := filepath.Join(dir, "text"), write(t, filepath.Join(dir, "headers"),
		"old"), filepath.Join(dir, "none")
	ask(t, funcs, address+"/yaml", "decode", true, "text_out", text, "decode_out", text+"2",
		"headers_out", headers)
	ask(t, funcs, address+"/yaml", "headers_out", none)
	if read(t, text) != "a: [1, 2]\n" || read(t, text+"2") != "a: [1, 2]\n" ||
		!strings.Contains(read(t, headers), "Content-Type: application/x-yaml\n") {
		t.Errorf("got %q, %q, %q", read(t, text), read(t, text+"2"), read(t, headers))
	}
	if info, _ := os.Stat(headers); info.Mode().Perm() != 0o640 {
		t.Errorf("the file of headers has now the mode %v", info.Mode())
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a file of headers was made")
	}
}

// TestCookies compares the files with those that Python's http.cookiejar writes.
func TestCookies(t *testing.T) {
	for format, want := range map[string]string{
		"lwp": "#LWP-Cookies-2.0\nSet-Cookie3: last=v; path=\"/\"; domain=\"127.0.0.1\"; path_spec; expires=\"2038-01-01 00:00:00Z\"; version=0\n",
		"mozilla": "# Netscape HTTP Cookie File\n# http://curl.haxx.se/rfc/cookie_spec.html\n# This is a generated file!  Do not edit.\n\n" +
			"127.0.0.1\tFALSE\t/\tFALSE\t2145916800\tlast\tv\n",
	} {
		address, dir, funcs := serve(t)
		args := []any{"cookies", true, "cookie_format", format}
		for range 2 {
			ask(t, funcs, address+"/cookie", args...)
			if got := read(t, filepath.Join(dir, "cookies.txt")); got != want {
				t.Errorf("%s: got %q, want %q", format, got, want)
			}
		}
		if got := ask(t, funcs, address+"/echo", args...).Text("body"); !strings.Contains(got,
			`"Cookie":"last=v"`) {
			t.Errorf("%s: sent %s", format, got)
		}
		ask(t, funcs, address+"/gone", args...)
		if got := read(t, filepath.Join(dir, "cookies.txt")); strings.Contains(got, "last") {
			t.Errorf("%s: a cookie that is gone is in %q", format, got)
		}
		write(t, filepath.Join(dir, "cookies.txt"), "nonsense")
		if _, err := funcs.Invoke(t.Context(), "http.query", []any{address},
			data.NewMap(args...)); err == nil {
			t.Errorf("%s: nonsense was parsed as cookies", format)
		}
	}
}

func TestSession(t *testing.T) {
	address, dir, funcs := serve(t)
	ask(t, funcs, address+"/cookie", "persist_session", true)
	for range 2 {
		if got := ask(t, funcs, address+"/echo", "persist_session",
			true).Text("body"); !strings.Contains(got, `"Cookie":"sid=abc; last=v; other=x"`) {
			t.Errorf("sent %s", got)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "cookies.session.p"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file of the session: %v, %v", info, err)
	}
	if got := read(t, filepath.Join(dir,
		"cookies.session.p")); got != "\x81\xa6Cookie\xb8sid=abc; last=v; other=x" &&
		!strings.HasPrefix(got, "\x81\xa6Cookie") {
		t.Errorf("got %q", got)
	}
}

func certificate(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

func TestUpdateCaBundle(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	good := string(certificate(secure))
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/good" {
			io.WriteString(w, good)
		}
	}))
	defer files.Close()
	_, dir, funcs := serve(t)
	target, more := write(t, filepath.Join(dir, "ca.pem"), "old"), write(t,
		filepath.Join(dir, "more.pem"), "MORE")
	update := func(source string, args ...any) error {
		_, err := funcs.Invoke(t.Context(), "http.update_ca_bundle", nil,
			data.NewMap(append([]any{"target", target, "source", files.URL + source}, args...)...))
		return err
	}
	if err := update("/bad"); err == nil || read(t, target) != "old" {
		t.Errorf("what has no certificates: %v, %q", err, read(t, target))
	}
	for range 2 {
		if err := update("/good", "merge_files",
			[]any{more, filepath.Join(dir, "none")}); err != nil || read(t, target) != good+"\n\nMORE" {
			t.Errorf("%v, %q", err, read(t, target))
		}
	}
	if got := data.Repr(ask(t, funcs, secure.URL,
		"ca_bundle", target)); got != "{'status': 404, 'error': 'HTTP 404: Not Found'}" {
		t.Errorf("with the bundle: %s", got)
	}
	if got := ask(t, funcs, secure.URL).Text("error"); !strings.Contains(got, "certificate") {
		t.Errorf("without the bundle: %q", got)
	}
}
