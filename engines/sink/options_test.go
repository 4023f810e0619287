package sink

import (
	"crypto/tls"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		options *data.Map
		servers string // with tls in front if it is on
		err     string
	}{
		{options: data.NewMap("servers", []any{"a", "mq://b:7", "[::1]", "c:9"}), servers: "a:1 b:7 [::1]:1 c:9"},
		{options: data.NewMap("servers", []any{"mqs://a/"}), servers: "tls a:2"},
		{options: data.NewMap("servers", []any{"a"}, "tls", true), servers: "tls a:2"},
		{options: data.NewMap("servers", []any{"a"}, "tls_ca", "/x"), servers: "tls a:2"},
		{options: data.NewMap("servers", []any{"a"}, "own", int64(1), "user", nil, "tls", false), servers: "a:1"},
		{options: data.NewMap(), err: "the option servers is missing"},
		{options: data.NewMap("servers", "a"), err: "servers: expected a list"},
		{options: data.NewMap("servers", []any{"mq://a", "mqs://b"}), err: "some addresses mean TLS"},
		{options: data.NewMap("servers", []any{"mqs://a"}, "tls", false), err: "the addresses of servers mean TLS"},
		{options: data.NewMap("servers", []any{"a"}, "tls", false, "tls_ca", "/x"), err: "there are options of TLS"},
		{options: data.NewMap("servers", []any{"http://a"}), err: "expected an address such as mq://"},
		{options: data.NewMap("servers", []any{"mq://a/b"}), err: "expected an address such as mq://"},
		{options: data.NewMap("servers", []any{"mq://a?b"}), err: "expected an address such as mq://"},
		{options: data.NewMap("servers", []any{""}), err: "expected an address such as mq://"},
		{options: data.NewMap("servers", []any{"mq://u:secret@a"}), err: "an address has a user"},
		{options: data.NewMap("servers", []any{"u:secret@a:1"}), err: "an address has a user"},
		{options: data.NewMap("servers", []any{"mq://u:secret@a:b"}), err: "an address has a user"},
		{options: data.NewMap("servers", []any{"a"}, "password", "secret"), err: "option password is unknown"},
		{options: data.NewMap("servers", []any{"a"}, "user", "u"), err: "one needs the other"},
		{options: data.NewMap("servers", []any{"a"}, "password_file", "/x"), err: "one needs the other"},
		{options: data.NewMap("servers", []any{"a"}, "tls_cert", "/x"), err: "one needs the other"},
		{options: data.NewMap("servers", []any{"a"}, "tls", "yes"), err: "tls: expected true or false"},
		{options: data.NewMap("servers", []any{"a"}, "max_events", int64(0)), err: "max_events: expected a number"},
		{options: data.NewMap("servers", []any{"a"}, "max_bytes", 1.5), err: "max_bytes: expected a number"},
		{options: data.NewMap("servers", []any{"a"}, "max_message", int64(1)), err: "max_message: expected a number"},
		{options: data.NewMap("servers", []any{"a"}, "topic", "$x"), err: "topic: expected a text that begins with"},
		{options: data.NewMap("servers", []any{"a"}, "topic", "x//{tag}"), err: "topic: two slashes"},
		{options: data.NewMap("servers", []any{"a"}, "tags", "x"), err: "tags: expected a list"},
	} {
		o, err := Parse(engines.Host{}, tt.options, kind())
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v, want %q", data.Repr(tt.options), err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", data.Repr(tt.options), err)
			continue
		}
		got := strings.Join(o.Servers, " ")
		if o.TLS != nil {
			got = "tls " + got
		}
		if got != tt.servers {
			t.Errorf("%s: servers %s, want %s", data.Repr(tt.options), got, tt.servers)
		}
	}
}

func TestTopic(t *testing.T) {
	for _, tt := range []struct{ template, want, err string }{
		{template: "salt/{tag}", want: "salt/A/B"},
		{template: "salt", want: "salt"},
		{template: "x{master}.{id}.{tag}-{id}!", want: "xM_1.WEB_1.A/B-WEB_1!"},
		{template: "{tag}", err: "begins with a letter"}, {template: "", err: "begins with a letter"},
		{template: "$JS/{tag}", err: "begins with a letter"}, {template: "_INBOX.x", err: "begins with a letter"},
		{template: "a{", err: "at the brace"}, {template: "a{tag", err: "at the brace"},
		{template: "a{x}", err: "at the brace"}, {template: "a}", err: "holds a space"},
		{template: "a b", err: "holds a space"}, {template: "a*", err: "holds a space"},
		{template: "a\n", err: "holds a space"},
	} {
		topic, err := parseTopic(tt.template)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: %v, want %q", tt.template, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.template, err)
			continue
		}
		if got := topic.withMaster("m_1", strings.ToUpper).of("a/b", "web/1", strings.ToUpper); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.template, got, tt.want)
		}
	}
	topic, err := parseTopic("a/{id}")
	if got := topic.of("t", "", strings.ToUpper); err != nil || got != "a/none" {
		t.Errorf("without an id: %s, %v", got, err)
	}
}

// Each message is JSON, whatever an event holds.
func TestEncode(t *testing.T) {
	odd := data.NewMap()
	odd.Set(data.Tuple{int64(1)}, []any{math.NaN(), math.Inf(1), 1.5})
	for _, tt := range []struct {
		v    *data.Map
		want string
	}{
		{data.NewMap("a", "ä\xff", "b", nil), `{"a":"\u00e4\ufffd","b":null}`},
		{data.NewMap("a", []byte("x")), `{"a":"b'x'"}`},
		{odd, `{"(1,)":[null,null,1.5]}`},
	} {
		if got, err := encode(tt.v); err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s", data.Repr(tt.v), got, err, tt.want)
		}
	}
}

// The id of an event is the same on all members of a cluster, and other events have other ids.
func TestID(t *testing.T) {
	o, err := Parse(engines.Host{}, data.NewMap("servers", []any{"a"}), kind())
	if err != nil {
		t.Fatal(err)
	}
	bus := eventbus.New(eventbus.Options{})
	events := bus.Subscribe(eventbus.SubscribeOptions{})
	ids := map[string]bool{}
	for _, tag := range []string{"a", "b", "a"} {
		if err := bus.Fire(tag, data.NewMap("n", int64(len(ids)))); err != nil {
			t.Fatal(err)
		}
		e, err := events.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m, err := o.message(e)
		again, againErr := o.message(e)
		if err != nil || againErr != nil || m.ID != again.ID || len(m.ID) != 22 {
			t.Errorf("%+v, %+v, %v, %v", m, again, err, againErr)
		}
		if m.Key != tag {
			t.Errorf("the key of an event without id is %s", m.Key)
		}
		ids[m.ID] = true
	}
	if len(ids) != 3 {
		t.Errorf("ids: %v", ids)
	}
}

func TestPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p")
	o := &Options{PasswordFile: file}
	if _, err := o.Password(); err == nil || !strings.Contains(err.Error(), "password_file") {
		t.Errorf("a missing file: %v", err)
	}
	for _, tt := range []struct{ text, want, err string }{
		{text: "a b\r\n", want: "a b"}, {text: " x", want: " x"}, {text: "", want: ""},
		{text: strings.Repeat("x", 1<<17), err: "more than 65536 bytes"},
	} {
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := o.Password()
		if (err == nil) != (tt.err == "") || err == nil && got != tt.want ||
			err != nil && (!strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "xx")) {
			t.Errorf("%.9q: %q, %v", tt.text, got, err)
		}
	}
}

func TestTLSFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, files := range []*TLS{{CA: file}, {CA: file + "x"}, {Cert: file, Key: file}} {
		if _, err := files.Config(); err == nil || !strings.Contains(err.Error(), "load tls_c") {
			t.Errorf("%+v: %v", files, err)
		}
	}
	if conf, err := (&TLS{}).Config(); err != nil || conf.MinVersion < tls.VersionTLS12 || conf.InsecureSkipVerify {
		t.Errorf("%+v, %v", conf, err)
	}
}

// FuzzTopic makes topics of any template and tag: a topic begins with the text before the first value.
func FuzzTopic(f *testing.F) {
	f.Add("salt/{tag}", "a/b", "web1")
	f.Add("a{id}{master}", "", "")
	f.Fuzz(func(t *testing.T, template, tag, id string) {
		parsed, err := parseTopic(template)
		if err != nil {
			return
		}
		fixed, _, _ := strings.Cut(template, "{")
		got := parsed.withMaster("m", strings.ToUpper).of(tag, id, strings.ToUpper)
		if fixed == "" || !strings.HasPrefix(got, fixed) {
			t.Errorf("%q with %q and %q: %q", template, tag, id, got)
		}
	})
}

// FuzzServer parses any address: no error shows a password.
func FuzzServer(f *testing.F) {
	for _, seed := range []string{"a", "mq://a:1", "[::1]:7", "u:p@a", "mq://%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := parseServer(text, kind())
		if err == nil && (u.Hostname() == "" || u.User != nil) {
			t.Errorf("%q: %v", text, u)
		}
		if _, err := parseServer("mq://u:QWERTYUIOP@"+text, kind()); err != nil &&
			strings.Contains(err.Error(), "QWERTYUIOP") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
