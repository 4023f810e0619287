package stores

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/fileclient"
	"github.com/brineproject/brine/internal/test/fakeweb"
)

// fetch returns what the fetcher of the address's scheme writes.
func fetch(t *testing.T, opts, pillar *data.Map, address string) (string, error) {
	t.Helper()
	for _, f := range Fetchers(opts, func() *data.Map { return pillar }) {
		if strings.HasPrefix(address, f.Schemes()[0]+"://") {
			var b bytes.Buffer
			_, err := f.Fetch(t.Context(), fileclient.Fetch{URL: address}, &b)
			return b.String(), err
		}
	}
	t.Fatalf("nobody fetches %s", address)
	return "", nil
}

func TestS3(t *testing.T) {
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		if r.Path != "/bucket/dir/a%20b" || !strings.Contains(r.Header.Get("Authorization"), "Credential=ID/") {
			return &fakeweb.Answer{Status: 404, Body: "<Error><Code>NoSuchKey</Code><Message>gone</Message></Error>"}
		}
		return &fakeweb.Answer{Body: "content"}
	})
	all := data.NewMap("keyid", "ID", "key", "hunter2", "service_url", strings.TrimPrefix(s.URL, "http://"),
		"path_style", true, "https_enable", false, "location", "x")
	opts := data.NewMap()
	for k, v := range all.All() {
		opts.Set("s3."+data.Str(k), v)
	}
	for name, from := range map[string][2]*data.Map{"options": {opts, nil},
		"pillar": {data.NewMap(), data.NewMap("s3", all)}} {
		if got, err := fetch(t, from[0], from[1], "s3://bucket/dir/a b"); err != nil || got != "content" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	_, err := fetch(t, opts, nil, "s3://bucket/none")
	if err == nil || err.Error() != "Could not fetch from s3://bucket/none. Exception: Failed to get file. NoSuchKey: gone" {
		t.Error(err)
	}
	if _, err := fetch(t, opts, nil, "s3://bucket"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

func TestSwift(t *testing.T) {
	s := fakeweb.New(t, func(r fakeweb.Request) *fakeweb.Answer {
		switch {
		case r.Line() == "POST /v2.0/tokens" && strings.Contains(r.Body, `"hunter2"`):
			return &fakeweb.Answer{Body: `{"access": {"token": {"id": "t0ken"}, "serviceCatalog": [{"type": "identity"},
				{"type": "object-store", "endpoints": [{"public\u0055RL": "URL/v1/AUTH_x"}]}]}}`}
		case r.Line() == "POST /v2.0/tokens":
			return &fakeweb.Answer{Status: 401}
		case r.Path == "/v1/AUTH_x/box/d/a%20b" && r.Header.Get("X-Auth-Token") == "t0ken":
			return &fakeweb.Answer{Body: "content"}
		}
		return nil
	})
	opts := data.NewMap("keystone.user", "u", "keystone.tenant", "x", "keystone.auth_url", s.URL+"/v2.0")
	pillar := data.NewMap("keystone.password", "hunter2")
	if got, err := fetch(t, opts, pillar, "swift://box/d/a b"); err != nil || got != "content" {
		t.Errorf("%q, %v", got, err)
	}
	if got := s.Take()[0].Body; got != `{"auth":{"passwordCredentials":{"username":"u","password":"hunter2"},"tenantName":"x"}}` {
		t.Errorf("sent %s", got)
	}
	for address, p := range map[string]*data.Map{"swift://box/none": pillar, "swift://box/d/a b": nil} {
		_, err := fetch(t, opts, p, address)
		var failed *fileclient.FetchError
		if !errors.As(err, &failed) || err.Error() != "Could not fetch from "+address || failed.Err == nil ||
			strings.Contains(failed.Err.Error(), "hunter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
