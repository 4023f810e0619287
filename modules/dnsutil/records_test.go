package dnsutil

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
)

func ip4(s string) *dnsmessage.AResource {
	return &dnsmessage.AResource{A: netip.MustParseAddr(s).As4()}
}

func ip6(s string) *dnsmessage.AAAAResource {
	return &dnsmessage.AAAAResource{AAAA: netip.MustParseAddr(s).As16()}
}

func txt(texts ...string) *dnsmessage.TXTResource { return &dnsmessage.TXTResource{TXT: texts} }

func mx(n uint16, host string) *dnsmessage.MXResource {
	return &dnsmessage.MXResource{Pref: n, MX: name(host)}
}

func spfOf(text string) *dnsmessage.UnknownResource {
	return &dnsmessage.UnknownResource{Type: dnsmessage.Type(typeSPF),
		Data: append([]byte{byte(len(text))}, text...)}
}

// world returns the records of the server.
func world() map[string][]dnsmessage.ResourceBody {
	w := map[string][]dnsmessage.ResourceBody{
		"A www.ex.test.":    {ip4("192.0.2.1"), ip4("192.0.2.2")},
		"A mail.ex.test.":   {ip4("192.0.2.25")},
		"A alias.ex.test.":  {&dnsmessage.CNAMEResource{CNAME: name("www.ex.test.")}, ip4("192.0.2.1")},
		"AAAA www.ex.test.": {ip6("2001:db8::1"), ip6("::ffff:192.0.2.1")},
		"NS ex.test.": {&dnsmessage.NSResource{NS: name("www.ex.test.")},
			&dnsmessage.NSResource{NS: name("gone.ex.test.")}},
		"MX ex.test.":     {mx(10, "mail.ex.test."), mx(20, "www.ex.test.")},
		"MX bad.test.":    {mx(5, "gone.ex.test.")},
		"TXT ex.test.":    {txt("v=spf1 ip4:192.0.2.0/24 +ip6:2001:db8::/32 include:inc.test ~all")},
		"TXT inc.test.":   {txt("v=spf1 ip4:198.51.100.7 ip4:nonsense ip6:2001:db8::/4 mx -all")},
		"TXT red.test.":   {txt("v=spf1 redirect=inc.test")},
		"TXT other.test.": {txt("hello world")},
		"TXT bare.test.":  {txt("v=spf1")},
		"TXT two.test.":   {txt("v=spf1 ip4:192.0.2.9", "ip4:192.0.2.10 \"\\\x01 -all")},
		"99 typ.test.":    {spfOf("v=spf1 ip4:192.0.2.77")},
		"TXT typ.test.":   {txt("v=spf1 ip4:192.0.2.78")},
		"TXT loop.test.":  {txt("v=spf1 include:loop.test")},
	}
	for i := range 200 {
		w["A many.test."] = append(w["A many.test."], ip4(fmt.Sprintf("10.0.0.%d", i)))
	}
	return w
}

func newShelf(t *testing.T, m *module) *loader.Registry {
	t.Helper()
	m.env = &loader.Env{Root: t.TempDir()}
	r, err := loader.NewRegistry(m.env,
		[]loader.Plugin{{Name: "dnsutil", New: func(env *loader.Env) (*loader.Module, error) {
			m.env = env
			return newModule(m)
		}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecords compares results with those of salt-call 3006.18 with dig 9.18 for the same records.
func TestRecords(t *testing.T) {
	for _, lies := range []bool{false, true} {
		s := startServer(t, world())
		s.lies.Store(lies)
		r := newShelf(t, &module{port: s.port, dig: true})
		for _, tt := range []struct {
			fun    string
			args   []any
			kwargs *data.Map
			want   string
		}{
			{"A", []any{"www.ex.test"}, nil, "['192.0.2.1', '192.0.2.2']"},
			{"A", []any{"alias.ex.test."}, nil, "['192.0.2.1']"},
			{"A", []any{"WWW.ex.test"}, nil, "[]"}, // the server is case-sensitive
			{"A", []any{"nosuch.ex.test"}, nil, "[]"},
			{"A", []any{"a..b"}, nil, "[]"},
			{"A", []any{strings.Repeat("x", 300)}, nil, "[]"},
			{"A", []any{""}, nil, "[]"},
			{"AAAA", []any{"www.ex.test"}, nil, "['2001:db8::1', '::ffff:192.0.2.1']"},
			{"AAAA", []any{"mail.ex.test"}, nil, "[]"},
			{"NS", []any{"ex.test"}, nil, "['192.0.2.1', '192.0.2.2']"},
			{"NS", []any{"ex.test", false}, nil, "['www.ex.test.', 'gone.ex.test.']"},
			{"NS", []any{"nosuch.test"}, nil, "[]"},
			{"NS", []any{"nosuch.test", false}, nil, "['']"},
			{"MX", []any{"ex.test"}, nil, "[['10', 'mail.ex.test.'], ['20', 'www.ex.test.']]"},
			{"MX", []any{"ex.test", true}, nil, "[['10', '192.0.2.25'], ['20', '192.0.2.1']]"},
			{"MX", []any{"www.ex.test"}, nil, "[[]]"},
			{"MX", []any{"www.ex.test", true}, nil, "[]"},
			{"SPF", []any{"ex.test"}, nil, "['192.0.2.0/24', '2001:db8::/32', '198.51.100.7']"},
			{"SPF", []any{"red.test"}, nil, "['198.51.100.7']"},
			{"SPF", []any{"other.test"}, nil, "[]"},
			{"SPF", []any{"bare.test"}, nil, "[]"},
			{"SPF", []any{"two.test"}, nil, "['192.0.2.9', '192.0.2.10']"},
			{"SPF", []any{"typ.test"}, nil, "['192.0.2.77']"},
			{"SPF", []any{"typ.test", "TXT"}, nil, "['192.0.2.78']"},
			{"SPF", []any{"nosuch.test"}, nil, "[]"},
		} {
			for range 2 {
				got, err := r.Invoke(t.Context(), "dnsutil."+tt.fun, tt.args,
					data.NewMap("nameserver", "127.0.0.1"))
				if err != nil || data.Repr(got) != tt.want {
					t.Errorf("dnsutil.%s %s\n got %s, %v\nwant %s", tt.fun, data.Repr(tt.args),
						data.Repr(got), err, tt.want)
				}
			}
		}
		got, err := r.Invoke(t.Context(), "dnsutil.A", []any{"many.test", "127.0.0.1"}, nil)
		if list, _ := got.([]any); err != nil || len(list) != 200 {
			t.Errorf("an answer over TCP has %d records, %v", len(list), err)
		}
		for fun, args := range map[string][]any{"MX": {"bad.test", true, "127.0.0.1"},
			"SPF": {"loop.test", "SPF", "127.0.0.1"}} {
			if got, err := r.Invoke(t.Context(), "dnsutil."+fun, args, nil); err == nil {
				t.Errorf("dnsutil.%s %v returned %s", fun, args, data.Repr(got))
			}
		}
	}
}

// TestRetcode checks the return code of the job, which is dig's.
func TestRetcode(t *testing.T) {
	s := startServer(t, world())
	r := newShelf(t, &module{port: s.port, dig: true})
	for _, tt := range []struct {
		fun  string
		args []any
		want int64
	}{
		{"A", []any{"www.ex.test", "127.0.0.1"}, 0},
		{"A", []any{"nosuch.ex.test", "127.0.0.1"}, 0},
		{"A", []any{"", "127.0.0.1"}, 10},
		{"A", []any{"a..b", "127.0.0.1"}, 10},
		{"A", []any{"www.ex.test", "127.0.0.2"}, 9},
		{"AAAA", []any{"www.ex.test", "127.0.0.2"}, 9},
		{"NS", []any{"ex.test", true, "127.0.0.1"}, 0},
		{"NS", []any{"ex.test", false, "127.0.0.2"}, 9},
		{"NS", []any{"nosuch.test", true, "127.0.0.1"}, 10}, // Salt looks up the empty name
		{"NS", []any{"nosuch.test", false, "127.0.0.1"}, 0},
		{"MX", []any{"ex.test", false, "127.0.0.2"}, 9},
		{"SPF", []any{"ex.test", "SPF", "127.0.0.2"}, 9},
	} {
		for range 2 {
			job := &loader.Context{}
			_, err := r.Invoke(loader.WithContext(t.Context(), job), "dnsutil."+tt.fun, tt.args, nil)
			if code, _ := job.Get("retcode"); err != nil || code != tt.want {
				t.Errorf("dnsutil.%s %s: return code %v, %v, want %d", tt.fun, data.Repr(tt.args),
					code, err, tt.want)
			}
		}
	}
}

// TestSystemServers checks that the servers in resolv.conf are queried, including those after
// one that does not respond.
func TestSystemServers(t *testing.T) {
	s := startServer(t, world())
	m := &module{port: s.port, dig: true}
	r := newShelf(t, m)
	if err := os.MkdirAll(filepath.Join(m.env.Root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	conf := "# nameserver 192.0.2.1\nsearch x\nnameserver\nnameserver nonsense\nnameserver 127.0.0.2\nnameserver 127.0.0.1\n"
	if err := os.WriteFile(filepath.Join(m.env.Root, "etc/resolv.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := r.Invoke(t.Context(), "dnsutil.A", []any{"mail.ex.test"}, nil)
	if want := "['192.0.2.25']"; err != nil || data.Repr(got) != want {
		t.Errorf("got %s, %v, want %s", data.Repr(got), err, want)
	}
	for fun, want := range map[string]string{"A": "[]", "NS": "[]", "MX": "[]", "SPF": "[]"} {
		got, err := r.Invoke(t.Context(), "dnsutil."+fun, []any{"ex.test"},
			data.NewMap("nameserver", "127.0.0.2"))
		if err != nil || data.Repr(got) != want {
			t.Errorf("%s of a server that is not there: %s, %v, want %s", fun, data.Repr(got), err, want)
		}
	}
}

// TestWithoutDig compares with Salt on a host without dig, if no server is named.
func TestWithoutDig(t *testing.T) {
	r := newShelf(t, &module{})
	for _, tt := range []struct{ fun, host, want string }{
		{"A", "127.0.0.5", "['127.0.0.5']"}, {"AAAA", "::1", "['::1']"}, {"A", "no such host",
			"'Unable to resolve no such host'"},
	} {
		got, err := r.Invoke(t.Context(), "dnsutil."+tt.fun, []any{tt.host}, nil)
		if err != nil || data.Repr(got) != tt.want {
			t.Errorf("%s: %s, %v, want %s", tt.host, data.Repr(got), err, tt.want)
		}
	}
}

func TestCheckIP(t *testing.T) {
	r := newShelf(t, &module{})
	for text, want := range map[any]bool{
		"127.0.0.1": true, "127.0.0.1/8": true, "127.0.0.1/33": false, "127.0.0.1/0": false,
		"1.2.3.4/x": false, "1.2.3": false, "::1": true, "::1/64": true, "::1/4": false,
		"::1/129": false, "fe80::1%eth0": true, int64(5): false, nil: false, "": false,
	} {
		if got, err := r.Invoke(t.Context(), "dnsutil.check_ip", []any{text}, nil); err != nil ||
			got != want {
			t.Errorf("%v: %v, %v", text, got, err)
		}
	}
	if _, err := r.Invoke(t.Context(), "dnsutil.SPF", []any{"x", "AXFR"},
		nil); !strings.Contains(calls.Text(err), "must be SPF or TXT") {
		t.Errorf("another type: %v", err)
	}
}

// TestNames checks how names are printed, and which are rejected, such as pointers that lead to
// themselves or nowhere.
func TestNames(t *testing.T) {
	for packed, want := range map[string]string{
		"\x01a\x02bc\x00": "a.bc.", "\x00": ".", "\x05a.b $\x02\xff;\x00": `a\.b\032\$.\255\;.`,
		"\x01a": "", "\x05a": "", "": "", "\xc0\x00": "", "\xc0": "", "\x01a\xc0\x00": "", "\x41" +
			strings.Repeat("a", 65) + "\x00": "",
		strings.Repeat("\x3f"+strings.Repeat("a", 63), 4) + "\x00": "",
	} {
		got, err := (&message{b: []byte(packed)}).domain()
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", packed, got, err, want)
		}
	}
	m := &message{b: []byte("\x02ex\x00\x03www\xc0\x00end"), at: 4}
	if got, err := m.domain(); got != "www.ex." || err != nil || string(m.b[m.at:]) != "end" {
		t.Errorf("a name with a pointer: %q, %v, before %q", got, err, m.b[m.at:])
	}
	for _, name := range []string{"a..b", ".", "", strings.Repeat("a", 64), strings.Repeat("a.", 130)} {
		if b, err := packName(name); err == nil {
			t.Errorf("%q is packed as %q", name, b)
		}
	}
}

// FuzzAnswer checks that no response makes the parser panic.
func FuzzAnswer(f *testing.F) {
	s := &server{records: world()}
	for _, record := range []struct {
		name string
		kind kind
	}{{"www.ex.test.", typeA}, {"ex.test.", typeMX}, {"two.test.", typeTXT}, {"typ.test.", typeSPF}} {
		q, err := newQuestion(record.name, record.kind)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s.answer(q.raw, 1<<16))
	}
	q, err := newQuestion("ex.test.", typeTXT)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(_ *testing.T, answer []byte) {
		q.answeredBy(answer)
		cut(answer)
		_, _ = q.lines(answer)
	})
}
