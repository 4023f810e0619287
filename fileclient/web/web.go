// Package web fetches files from http, https and ftp servers for package fileclient. It is a
// separate package because its dependencies are too large for a small minion.
//
// It uses these options of the minion: http_connect_timeout, http_request_timeout (seconds),
// http_max_body (bytes), proxy_host, proxy_port, proxy_username, proxy_password, no_proxy,
// verify_ssl and ca_bundle (salt/utils/http.py, query). Proxy settings in the environment are
// ignored, as in Salt. Compressed bodies stay compressed.
package web

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
)

// Fetchers returns fetchers for http, https and ftp, configured by the options of a minion.
func Fetchers(opts *data.Map) []fileclient.Fetcher {
	s := settingsOf(opts)
	return []fileclient.Fetcher{&httpFetcher{s}, &ftpFetcher{s}}
}

// Client returns a client for http and https requests under the options, for other uses than files.
// It limits the time to connect, but neither the time of a request nor the size of a reply. The
// caller closes its idle connections.
func Client(opts *data.Map) (*http.Client, error) {
	h := &httpFetcher{settingsOf(opts)}
	return h.client(false)
}

func settingsOf(opts *data.Map) settings {
	s := settings{
		connect: seconds(opts, "http_connect_timeout", 20), whole: seconds(opts,
			"http_request_timeout", 3600),
		most: 100 << 30, insecure: opts.Value("verify_ssl") == false,
		bundle: opts.Text("ca_bundle"),
		proxy: proxy{host: opts.Text("proxy_host"), user: opts.Text("proxy_username"),
			password: opts.Text("proxy_password")},
	}
	if n, ok := opts.Value("http_max_body").(int64); ok && n > 0 {
		s.most = n
	}
	s.proxy.port, _ = opts.Value("proxy_port").(int64)
	direct, _ := opts.Value("no_proxy").([]any)
	for _, host := range direct {
		s.proxy.not = append(s.proxy.not, data.Str(host))
	}
	return s
}

// settings are the options of a minion.
type settings struct {
	connect, whole time.Duration
	most           int64
	insecure       bool
	bundle         string // file of certificates; "" means the system's certificates
	proxy          proxy
}

type proxy struct {
	host, user, password string
	port                 int64
	not                  []string // hosts that are asked directly
}

// seconds returns an option that is a number of seconds.
func seconds(opts *data.Map, name string, usual time.Duration) time.Duration {
	switch v := opts.Value(name).(type) {
	case int64:
		return time.Duration(v) * time.Second
	case float64:
		return time.Duration(v * float64(time.Second))
	}
	return usual * time.Second
}

// Reason returns an error of a connection in Python's words.
func Reason(err error) string {
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return "[Errno -2] Name or service not known"
	} else if ok && name.IsTemporary {
		return "[Errno -3] Temporary failure in name resolution"
	}
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		return fmt.Sprintf("%d %s", answer.Code, answer.Msg)
	}
	number, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return err.Error()
	}
	text := number.Error()
	r, n := utf8.DecodeRuneInString(text)
	return fmt.Sprintf("[Errno %d] %s", int(number), string(unicode.ToUpper(r))+text[n:])
}

// limited copies r to w and fails if there are more than most bytes.
func limited(w io.Writer, r io.Reader, most int64) error {
	n, err := io.Copy(w, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("content is longer than the %d bytes of http_max_body", most)
	}
	return err
}

// printable reports whether a text has no control characters, which would end a line of a protocol.
func printable(text string) bool { return !strings.ContainsFunc(text, unicode.IsControl) }
