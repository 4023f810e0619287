package grains

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
)

// TestMetadata compares with the grains of Salt 3006.0 for metadata servers with these answers:
// testdata/metadata.
func TestMetadata(t *testing.T) {
	for _, cloud := range []string{"ec2", "gce", "azure"} {
		t.Run(cloud, func(t *testing.T) {
			c := readHost(t, filepath.Join("testdata", "metadata", cloud+".json"))
			got := metadataGrains(t, metadataHandler(c.Value("paths").(*data.Map)))
			if g, w := data.Repr(got), data.Repr(c.Value("grains")); g != w {
				t.Errorf("grains = %s\nwant %s", g, w)
			}
		})
	}
}

// metadataHandler sends the replies of a case: by path, to requests with the required headers.
func metadataHandler(paths *data.Map) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := paths.Value(r.URL.RequestURI()).(*data.Map)
		if !ok || r.Method != http.MethodGet {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		if needs, ok := a.Value("needs").(*data.Map); ok {
			for k, v := range needs.All() {
				if r.Header.Get(k.(string)) != v {
					http.Error(w, "a header is missing", http.StatusForbidden)
					return
				}
			}
		}
		w.Header().Set("Content-Type", "text/plain")
		if headers, ok := a.Value("headers").(*data.Map); ok {
			for k, v := range headers.All() {
				w.Header().Set(k.(string), v.(string))
			}
		}
		_, _ = w.Write([]byte(a.Text("body")))
	})
}

// metadataGrains returns a minion's grains from a metadata server on loopback.
func metadataGrains(t *testing.T, h http.Handler) *data.Map {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return metadataFrom(t, func(ctx context.Context, network, _ string) (net.Conn, error) {
		return systemDial(ctx, network, srv.Listener.Addr().String())
	})
}

func metadataFrom(t *testing.T, dial func(context.Context, string, string) (net.Conn, error)) *data.Map {
	t.Helper()
	c := New(Options{Opts: data.NewMap("metadata_server_grains", true)})
	c.dial = dial
	return (&collection{Collector: c}).metadata(t.Context())
}

// TestMetadataToken uses an EC2 server that requires a token and replies in chunks.
func TestMetadataToken(t *testing.T) {
	got := metadataGrains(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" &&
			r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "":
			_, _ = w.Write([]byte("SECRET=="))
		case r.Header.Get("X-aws-ec2-metadata-token") != "SECRET==":
			http.Error(w, "", http.StatusUnauthorized)
		case r.URL.Path == "/latest/":
			_, _ = w.Write([]byte("meta"))
			w.(http.Flusher).Flush()
			_, _ = w.Write([]byte("-data"))
		case r.URL.Path == "/latest/meta-data/":
			_, _ = w.Write([]byte("ami-id"))
		default:
			_, _ = w.Write([]byte("ami-1"))
		}
	}))
	if g := data.Repr(got); g != "{'meta-data': {'ami-id': 'ami-1'}}" {
		t.Errorf("grains = %s", g)
	}
}

// TestMetadataIsAskedFor checks that no server is asked unless the option is set; False counts as
// not set.
func TestMetadataIsAskedFor(t *testing.T) {
	for _, opts := range []*data.Map{data.NewMap(), data.NewMap("metadata_server_grains", false)} {
		c := New(Options{Opts: opts})
		c.dial = func(context.Context, string, string) (net.Conn, error) {
			t.Error("the server is asked")
			return nil, errors.New("no network")
		}
		if got := (&collection{Collector: c}).metadata(t.Context()); got != nil {
			t.Errorf("grains with %s = %s", data.Repr(opts), data.Repr(got))
		}
	}
}

// TestMetadataWithoutEnd checks that an endless tree is abandoned after 1000 requests, with the
// data found so far.
func TestMetadataWithoutEnd(t *testing.T) {
	var asked atomic.Int64
	got := metadataGrains(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); strings.HasSuffix(r.URL.Path, "/") {
			_, _ = w.Write([]byte("a/\nb/\nc"))
		}
	}))
	if _, ok := got.Value("a").(*data.Map); !ok || asked.Load() > metadataRequests {
		t.Errorf("%d requests, a = %s", asked.Load(), data.Repr(got.Value("a")))
	}
}

// TestSilentMetadataServer checks that hosts outside of clouds lose a tenth of a second at most,
// and that a server that never answers costs five seconds.
func TestSilentMetadataServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		metadataFrom(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if took := time.Since(begin); took != metadataConnect {
			t.Errorf("nobody there took %v, want %v", took, metadataConnect)
		}
		begin = time.Now()
		metadataFrom(t, func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() { _, _ = bufio.NewReader(theirs).ReadString(0) }()
			return ours, nil
		})
		if took := time.Since(begin); took > metadataTime {
			t.Errorf("a silent server took %v, want at most %v", took, metadataTime)
		}
	})
}

// FuzzMetadataAnswer feeds hostile replies: none may panic, and no body may be longer than allowed.
func FuzzMetadataAnswer(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab")
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n")
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nab")
	f.Add("HTTP/1.0 404 \r\n\r\nx")
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := readAnswer(strings.NewReader(text))
		if err == nil && len(a.body) > 3*metadataBody { // U+FFFD has three bytes
			t.Errorf("a body of %d bytes", len(a.body))
		}
		_, _ = document(a.body)
	})
}
