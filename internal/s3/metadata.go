package s3

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/rest"
)

// amazon is the address of the metadata of an instance, and metadataTimeout limits each request
// there.
const (
	amazon          = "http://169.254.169.254"
	metadataTimeout = 3 * time.Second
	usualLocation   = "us-east-1"
)

// credentials sign requests.
type credentials struct{ id, key, token string }

// metadata is what the instance has told.
type metadata struct {
	role     credentials
	until    time.Time // when role expires
	location string
}

var errNoRole = errors.New("there is no key: set key and keyid, or give the instance a role")

// credentials returns the configured credentials, or those of the instance's role.
func (b *Bucket) credentials(ctx context.Context) (credentials, error) {
	c := credentials{id: b.config.KeyID, key: b.config.Key}
	const role = "use-instance-role-credentials"
	if c.id != "" && c.key != "" && c.id != role && c.key != role {
		return c, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now().Before(b.known.until) {
		return b.known.role, nil
	}
	const at = "meta-data/iam/security-credentials/"
	name, err := b.ask(ctx, at)
	if err != nil {
		return c, errNoRole
	}
	first, _, _ := strings.Cut(string(name.Body), "\n")
	part, err := rest.Part("the role of the instance", strings.TrimSpace(first))
	if err != nil {
		return c, errNoRole
	}
	found, err := b.ask(ctx, at+part)
	if err != nil {
		return c, errNoRole
	}
	v, _ := found.JSON()
	m, _ := v.(*data.Map)
	c = credentials{m.Text("AccessKeyId"), m.Text("SecretAccessKey"), m.Text("Token")}
	until, err := time.Parse(time.RFC3339, m.Text("Expiration"))
	if c.id == "" || c.key == "" || err != nil {
		return c, errNoRole
	}
	b.known.role, b.known.until = c, until
	return c, nil
}

// location returns the configured region, that of the instance, or the usual one.
func (b *Bucket) location(ctx context.Context) string {
	if b.config.Location != "" {
		return b.config.Location
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known.location == "" {
		b.known.location = usualLocation
		if a, err := b.ask(ctx, "dynamic/instance-identity/document"); err == nil {
			v, _ := a.JSON()
			m, _ := v.(*data.Map)
			if region := m.Text("region"); region != "" && !strings.ContainsAny(region, "/\r\n") {
				b.known.location = region
			}
		}
	}
	return b.known.location
}

// ask returns a document of the instance's metadata, with a token if it wants one.
func (b *Bucket) ask(ctx context.Context, path string) (*rest.Answer, error) {
	c, err := rest.New(rest.Options{Timeout: metadataTimeout, MaxBody: 1 << 20})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	at := amazon
	if b.config.Metadata != "" {
		at = b.config.Metadata
	}
	header := map[string]string{}
	a, err := c.Do(ctx, rest.Request{URL: at + "/latest/" + path})
	if err == nil && a.Status == http.StatusUnauthorized {
		token, failed := c.Do(ctx, rest.Request{Method: http.MethodPut, URL: at + "/latest/api/token",
			Header: map[string]string{"X-aws-ec2-metadata-token-ttl-seconds": "21600"}})
		if failed != nil {
			return nil, failed
		}
		header["X-aws-ec2-metadata-token"] = string(token.Body)
		a, err = c.Do(ctx, rest.Request{URL: at + "/latest/" + path, Header: header})
	}
	if err == nil {
		err = a.Err()
	}
	return a, err
}
