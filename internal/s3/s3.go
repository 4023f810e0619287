// Package s3 reads buckets of Amazon S3 and of compatible stores (salt/utils/s3.py).
//
// Requests are signed with version 4 of Amazon's signatures, in the form of Salt
// (salt/utils/aws.py, sig4). Without a key the credentials of the instance's role are used, and
// without a location the region of the instance, or us-east-1.
package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/brineproject/brine/internal/rest"
)

// Config describes a bucket and how to reach it.
type Config struct {
	Bucket     string
	KeyID, Key string // "" takes the credentials of the instance's role
	ServiceURL string // host of the service; "" means s3.amazonaws.com
	Location   string // region; "" asks the instance
	PathStyle  bool   // the bucket is in the path and not in the name of the host
	HTTP       bool   // without TLS
	Insecure   bool   // do not verify the certificate of the server
	CA         string // file of trusted authorities
	MaxFile    int64  // limit of a file in bytes; 0 means 4 GiB
	Timeout    time.Duration
	// address of the metadata of an instance; "" means Amazon's
	Metadata string
}

// Limits of a list.
const (
	maxObjects = 1_000_000
	maxFile    = 4 << 30
	patience   = 5 * time.Minute
)

// An Object is a file in a bucket.
type Object struct {
	Key      string
	ETag     string // without quotes; the MD5 of the content, unless it was uploaded in parts
	Size     int64
	Modified time.Time
}

// A Bucket reads one bucket. Several goroutines may use it.
type Bucket struct {
	config Config
	http   *rest.Client
	now    func() time.Time

	mu    sync.Mutex
	known metadata
}

// Open returns a bucket. It does not connect. As in Salt the environment configures proxies.
func Open(c Config) (*Bucket, error) {
	if c.Bucket == "" || strings.ContainsAny(c.Bucket, "/?#@:\\ \r\n") {
		return nil, errors.New("bucket: expected the name of a bucket")
	}
	if c.ServiceURL == "" {
		c.ServiceURL = "s3.amazonaws.com"
	}
	if strings.ContainsAny(c.ServiceURL, "/?#@\\ \r\n") {
		return nil, errors.New("service_url: expected a host, without scheme and path")
	}
	if c.MaxFile == 0 {
		c.MaxFile = maxFile
	}
	if c.Timeout == 0 {
		c.Timeout = patience
	}
	h, err := rest.New(rest.Options{Timeout: c.Timeout, MaxBody: c.MaxFile, Insecure: c.Insecure,
		CA: c.CA, EnvironmentProxies: true})
	if err != nil {
		return nil, err
	}
	return &Bucket{config: c, http: h, now: time.Now}, nil
}

// Close closes the connections.
func (b *Bucket) Close() { b.http.Close() }

// host returns the name of the host for requests, and the path of a key.
func (b *Bucket) address(key string) (host, path string) {
	path = quote(key)
	if b.config.PathStyle {
		return b.config.ServiceURL, "/" + quote(b.config.Bucket) + "/" + path
	}
	return b.config.Bucket + "." + b.config.ServiceURL, "/" + path
}

// request returns a signed request.
func (b *Bucket) request(ctx context.Context, key string, params map[string]string) (rest.Request, error) {
	c, err := b.credentials(ctx)
	if err != nil {
		return rest.Request{}, err
	}
	host, path := b.address(key)
	s := signing{credentials: c, method: http.MethodGet, host: host, path: path, params: params,
		location: b.location(ctx), now: b.now()}
	scheme := "https"
	if b.config.HTTP {
		scheme = "http"
	}
	return rest.Request{URL: scheme + "://" + host + path + "?" + s.query(), Header: s.headers()}, nil
}

// A listing is the answer to a list of a bucket.
type listing struct {
	Contents []struct {
		Key, ETag    string
		Size         int64
		LastModified time.Time
	}
	NextContinuationToken string
}

// List returns the objects whose keys begin with a prefix, in the order of the service.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Object, error) {
	var all []Object
	for token := ""; ; {
		params := map[string]string{"prefix": prefix, "list-type": "2"}
		if token != "" {
			params["continuation-token"] = token
		}
		page, err := b.page(ctx, params)
		if err != nil {
			return nil, fmt.Errorf("list bucket %s: %w", b.config.Bucket, err)
		}
		for _, o := range page.Contents {
			all = append(all, Object{Key: o.Key, ETag: strings.Trim(o.ETag, `"`), Size: o.Size,
				Modified: o.LastModified})
		}
		if len(all) > maxObjects {
			return nil, fmt.Errorf("list bucket %s: it has more than %d objects", b.config.Bucket, maxObjects)
		}
		if token = page.NextContinuationToken; token == "" {
			return all, nil
		}
	}
}

func (b *Bucket) page(ctx context.Context, params map[string]string) (*listing, error) {
	r, err := b.request(ctx, "", params)
	if err != nil {
		return nil, err
	}
	a, err := b.http.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	if !a.OK() {
		return nil, failure(a)
	}
	return parsePage(a.Body)
}

func parsePage(body []byte) (*listing, error) {
	page := &listing{}
	if err := xml.Unmarshal(body, page); err != nil {
		return nil, errors.New("the response is not a list of objects")
	}
	return page, nil
}

// ErrNotFound is wrapped if a bucket has no such object.
var ErrNotFound = errors.New("there is no such object")

// Get writes the content of an object to w. If it fails, the content written so far is not usable.
func (b *Bucket) Get(ctx context.Context, key string, w io.Writer) error {
	r, err := b.request(ctx, key, nil)
	if err != nil {
		return err
	}
	a, err := b.http.Copy(ctx, r, w)
	if err == nil && !a.OK() {
		err = failure(a)
	}
	return err
}

// failure returns the error in an answer, with Salt's text.
func failure(a *rest.Answer) error {
	var e struct{ Code, Message string }
	if err := xml.Unmarshal(a.Body, &e); err != nil || e.Code == "" {
		e.Code, e.Message = fmt.Sprintf("http-%d", a.Status), a.Reason
	}
	err := fmt.Errorf("%.200s: %.500s", e.Code, e.Message)
	if a.Status == http.StatusNotFound {
		return fmt.Errorf("%w%w", err, hidden{ErrNotFound})
	}
	return err
}

// hidden hides the text of an error that is wrapped for callers that check for it.
type hidden struct{ error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.error }
