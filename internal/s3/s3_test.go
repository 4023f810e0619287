package s3

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/fakeweb"
)

func at() time.Time { return time.Date(2026, 3, 1, 12, 30, 5, 0, time.UTC) }

// TestSignaturesAreSalts compares with the headers and addresses of salt.utils.aws.sig4 of Salt
// 3006.18 at the same time.
func TestSignaturesAreSalts(t *testing.T) {
	for _, c := range fakeweb.Cases(t, fakeweb.Load(t, "signatures.json")) {
		params := map[string]string{}
		for k, v := range c.Value("params").(*data.Map).All() {
			params[data.Str(k)] = data.Str(v)
		}
		s := signing{credentials: credentials{id: c.Text("id"), key: c.Text("key")}, method: "GET",
			host: c.Text("host"), path: c.Text("path"), params: params, location: c.Text("location"), now: at()}
		if got := "https://" + s.host + s.path + "?" + s.query(); got != c.Text("url") {
			t.Errorf("%s: %s, want %s", c.Text("name"), got, c.Text("url"))
		}
		want := map[string]string{}
		for k, v := range c.Value("headers").(*data.Map).All() {
			want[data.Str(k)] = data.Str(v)
		}
		if got := s.headers(); !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.Text("name"), got, want)
		}
	}
}

const page = `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>%s
<Contents><Key>%s</Key><LastModified>2026-03-01T00:00:00.000Z</LastModified><ETag>&quot;abc&quot;</ETag><Size>3</Size></Contents>
</ListBucketResult>`

// store is a store with two pages of objects, which wants one access key.
func store(t *testing.T, token string) *fakeweb.Server {
	t.Helper()
	var s *fakeweb.Server
	s = fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=ID/") ||
			r.Header.Get("X-Amz-Security-Token") != token {
			return &fakeweb.Answer{Status: http.StatusForbidden, Body: "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"}
		}
		switch {
		case r.Path == "/b/" && strings.Contains(r.Query, "continuation-token=n%2F"):
			return &fakeweb.Answer{Body: strings.ReplaceAll(strings.Replace(page, "%s", "", 1), "%s", "two")}
		case r.Path == "/b/":
			return &fakeweb.Answer{Body: strings.Replace(strings.Replace(page, "%s",
				"<NextContinuationToken>n/</NextContinuationToken>", 1), "%s", "d/ö ne", 1)}
		case r.Path == "/b/d/%C3%B6%20ne":
			return &fakeweb.Answer{Body: "content"}
		}
		return &fakeweb.Answer{Status: 404, Body: "<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>"}
	})
	return s
}

func open(t *testing.T, c Config) *Bucket {
	t.Helper()
	c.Bucket, c.PathStyle, c.HTTP = "b", true, true
	b, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestBucket(t *testing.T) {
	s := store(t, "")
	b := open(t, Config{ServiceURL: strings.TrimPrefix(s.URL, "http://"), KeyID: "ID", Key: "hunter2", Location: "x"})
	all, err := b.List(t.Context(), "")
	if err != nil || len(all) != 2 || all[0].Key != "d/ö ne" || all[0].ETag != "abc" || all[0].Size != 3 ||
		all[1].Key != "two" {
		t.Fatalf("%+v, %v", all, err)
	}
	var out bytes.Buffer
	if err := b.Get(t.Context(), "d/ö ne", &out); err != nil || out.String() != "content" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := b.Get(t.Context(), "gone", &out); !errors.Is(err, ErrNotFound) || err.Error() != "NoSuchKey: gone" {
		t.Errorf("%v", err)
	}
	bad := open(t, Config{ServiceURL: strings.TrimPrefix(s.URL, "http://"), KeyID: "OTHER", Key: "hunter2", Location: "x"})
	if _, err := bad.List(t.Context(), ""); err == nil || err.Error() != "list bucket b: AccessDenied: Access Denied" {
		t.Errorf("%v", err)
	}
	for _, c := range []Config{{}, {Bucket: "a/b"}, {Bucket: "a", ServiceURL: "http://x"}} {
		if _, err := Open(c); err == nil {
			t.Errorf("%+v was opened", c)
		}
	}
}

// TestRoleOfTheInstance reads credentials and region from an instance that wants a token for its
// metadata.
func TestRoleOfTheInstance(t *testing.T) {
	instance := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		switch {
		case r.Line() == "PUT /latest/api/token":
			return &fakeweb.Answer{Body: "imds"}
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "imds":
			return &fakeweb.Answer{Status: http.StatusUnauthorized}
		case strings.HasSuffix(r.Path, "/security-credentials/"):
			return &fakeweb.Answer{Body: "role"}
		case strings.HasSuffix(r.Path, "/security-credentials/role"):
			return &fakeweb.Answer{Body: `{"AccessKeyId": "ID", "SecretAccessKey": "K", "Token": "T", "Expiration": "2030-01-01T00:00:00Z"}`}
		}
		return &fakeweb.Answer{Body: `{"region": "mars-1"}`}
	})
	s := store(t, "T")
	b := open(t, Config{ServiceURL: strings.TrimPrefix(s.URL, "http://"), Metadata: instance.URL})
	b.now = at
	for range 2 {
		if _, err := b.List(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Take()[0].Header.Get("Authorization"); !strings.Contains(got, "/mars-1/s3/") {
		t.Error(got)
	}
	if n := len(instance.Take()); n != 9 {
		t.Errorf("the instance was asked %d times", n)
	}
	none := open(t, Config{ServiceURL: "127.0.0.1:1", Metadata: "http://127.0.0.1:1"})
	if _, err := none.List(t.Context(), ""); !errors.Is(err, errNoRole) {
		t.Errorf("%v", err)
	}
}

func FuzzPage(f *testing.F) {
	f.Add([]byte(page))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := parsePage(b); err == nil && p == nil {
			t.Error("neither a page nor an error")
		}
	})
}
