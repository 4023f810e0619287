package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/version"
)

// maxRedirects is the limit of redirects, as in Tornado.
const maxRedirects = 5

type httpFetcher struct{ settings }

var _ fileclient.Fetcher = (*httpFetcher)(nil)

// Schemes returns http and https.
func (h *httpFetcher) Schemes() []string { return []string{"http", "https"} }

// Fetch writes the body of the reply to w.
func (h *httpFetcher) Fetch(
	ctx context.Context, f fileclient.Fetch, w io.Writer,
) (fileclient.Fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, h.whole)
	defer cancel()
	client, err := h.client(f.Insecure)
	if err != nil {
		return fileclient.Fetched{}, fetchError(f.URL, err)
	}
	defer client.CloseIdleConnections()
	request, err := newRequest(ctx, f)
	if err != nil {
		return fileclient.Fetched{}, fetchError(f.URL, err)
	}
	answer, err := client.Do(request)
	if err != nil {
		return fileclient.Fetched{}, fetchError(f.URL, err)
	}
	defer answer.Body.Close()
	got := fileclient.Fetched{ETag: answer.Header.Get("ETag"),
		Text: strings.HasPrefix(answer.Header.Get("Content-Type"), "text")}
	switch {
	case answer.StatusCode == http.StatusNotModified && f.ETag != "":
		got.Unchanged = true
		return got, nil
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return got, fetchError(f.URL, &statusError{answer})
	}
	if err := limited(w, answer.Body, h.most); err != nil {
		return got, fetchError(f.URL, err)
	}
	return got, nil
}

func newRequest(ctx context.Context, f fileclient.Fetch) (*http.Request, error) {
	// a user in it becomes basic authentication
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return nil, errors.New("invalid URL")
	}
	request.Header.Set("User-Agent", "Salt/"+version.Salt()+" http.query()")
	if f.ETag != "" {
		request.Header.Set("If-None-Match", f.ETag)
	}
	return request, nil
}

// client returns an HTTP client.
func (h *httpFetcher) client(insecure bool) (*http.Client, error) {
	trust := &tls.Config{InsecureSkipVerify: insecure || h.insecure} //nolint:gosec // the operator asked for it
	if h.bundle != "" {
		pem, err := os.ReadFile(h.bundle)
		if err != nil {
			return nil, fmt.Errorf("ca_bundle: %w", err)
		}
		if trust.RootCAs = x509.NewCertPool(); !trust.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca_bundle: %s contains no certificate", h.bundle)
		}
	}
	dialer := &net.Dialer{Timeout: h.connect}
	return &http.Client{
		Transport: &http.Transport{Proxy: h.proxy.of, DialContext: dialer.DialContext,
			TLSHandshakeTimeout: h.connect, TLSClientConfig: trust,
			DisableCompression: true, ForceAttemptHTTP2: true},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}, nil
}

// of returns the proxy for a request, or nil for none.
func (p *proxy) of(r *http.Request) (*url.URL, error) {
	if p.host == "" || p.port == 0 || slices.Contains(p.not, r.URL.Hostname()) {
		return nil, nil
	}
	u := &url.URL{Scheme: "http", Host: net.JoinHostPort(p.host, fmt.Sprint(p.port))}
	if p.user != "" {
		u.User = url.UserPassword(p.user, p.password)
	}
	return u, nil
}

// A statusError is a reply with a status other than success.
type statusError struct{ answer *http.Response }

func (e *statusError) Error() string {
	_, text, _ := strings.Cut(e.answer.Status, " ")
	if text == "" {
		text = "Unknown"
	}
	return fmt.Sprintf("HTTP %d: %s", e.answer.StatusCode, text)
}

// fetchError returns the error for a URL, without the URL's secrets.
func fetchError(address string, err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		err = about.Err // the outer error contains the URL
	}
	path := "?"
	if u, parseErr := url.Parse(address); parseErr == nil {
		path = u.Path
	}
	return &fileclient.FetchError{Text: fmt.Sprintf("Error: %s reading %s", Reason(err), path),
		Err: err}
}
