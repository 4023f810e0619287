package dnsutil

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/calls"
	"github.com/brineproject/brine/loader"
)

const hostsText = "# c\n127.0.0.1 localhost a b\n10.0.0.1   x # note\n\n::1 localhost\n127.0.0.1 more\n"

// TestHosts compares results and files with those of salt-call 3006.18, one call after the other.
func TestHosts(t *testing.T) {
	m := &module{}
	r := newShelf(t, m)
	file := filepath.Join(m.env.Root, "h")
	if err := os.WriteFile(file, []byte(hostsText), 0o640); err != nil {
		t.Fatal(err)
	}
	const appended = hostsText + "\n127.0.0.1 new1 new2"
	const removed = "# c\n127.0.0.1 a b\n10.0.0.1 x # note\n\n127.0.0.1 more\n\n127.0.0.1 new1 new2\n"
	for _, tt := range []struct {
		fun        string
		args       []any
		want, text string
	}{
		{"parse_hosts", []any{"/h"}, "{'127.0.0.1': ['localhost', 'a', 'b', 'more'], '10.0.0.1': ['x', '#', 'note'], '::1': ['localhost']}", hostsText},
		{"parse_hosts", []any{"/nosuch"}, "'Error: hosts data was not found'", hostsText},
		{"parse_hosts", []any{"/h", "1.2.3.4 a\n \n5.6.7.8\n"},
			"{'1.2.3.4': ['a'], '5.6.7.8': []}", hostsText},
		{"hosts_append", []any{"/h", "127.0.0.1", "new1,a,b,new2"},
			`'The following line was added to /h:\n127.0.0.1 new1 new2'`, appended},
		{"hosts_append", []any{"/h", "127.0.0.1", "new1,a,b,new2"},
			"'No additional hosts were added to /h'", appended},
		{"hosts_append", []any{"/h", "10.9.9.9", "z"},
			`'The following line was added to /h:\n10.9.9.9 z'`, appended + "\n10.9.9.9 z"},
		{"hosts_remove", []any{"/h", "localhost,z"}, "None", removed},
		{"hosts_remove", []any{"/h", "localhost,z"}, "None", removed},
	} {
		got, err := r.Invoke(t.Context(), "dnsutil."+tt.fun, tt.args, nil)
		if text, _ := os.ReadFile(file); err != nil || data.Repr(got) != tt.want || string(text) != tt.text {
			t.Errorf("%s %s\n got %s, %v, %q\nwant %s, %q", tt.fun, data.Repr(tt.args),
				data.Repr(got), err, text, tt.want, tt.text)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o640 {
		t.Errorf("the mode %v, %v", info.Mode(), err)
	}
	for _, args := range [][]any{{"hosts_append", "/h"},
		{"hosts_append", "/h", "1.1.1.1", "a\n2.2.2.2 b"}, {"hosts_remove", "/h"}, {"hosts_remove",
			"/nosuch", "a"}} {
		if got, err := r.Invoke(t.Context(), "dnsutil."+args[0].(string), args[1:], nil); err == nil {
			t.Errorf("%v returned %s", args, data.Repr(got))
		}
	}
	if text, _ := os.ReadFile(file); string(text) != removed {
		t.Errorf("wrong calls write %q", text)
	}
}

const zoneText = `$TTL 1D
@  IN SOA ns1.example.com. hostmaster.example.com. (
   2020010101 ; serial
   3H ; refresh
   15M
   1W
   1D )
$ORIGIN example.com.
   IN NS ns1.example.com.
   IN NS ns2
@  3600 IN MX 10 mail
www 3600 IN A 192.0.2.1
v6 3600 IN AAAA 2001:db8::1
ftp IN CNAME www
`

// TestZones compares results with those of salt-call 3006.18, including its quirks.
func TestZones(t *testing.T) {
	m := &module{}
	r := newShelf(t, m)
	if err := os.WriteFile(filepath.Join(m.env.Root, "z"), []byte(zoneText), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []any
		want string
	}{
		{[]any{"/z"}, "{'TTL': '1D', 'ORIGIN': 'example.com.', 'NETWORK': 'IN', 'SOURCE': 'ns1.example.com.', 'CONTACT': 'hostmaster@example.com.', " +
			"'SERIAL': '2020010101', 'REFRESH': 10800, 'RETRY': 604800, 'EXPIRE': 604800, 'MINTTL': 86400, 'NS': ['ns1.example.com.', 'ns2'], " +
			"'IN': {'example.com.': 'MX'}, 'A': {'www.example.com.': {'TARGET': '192.0.2.1', 'TTL': '3600'}}, " +
			"'AAAA': {'v6.example.com.': {'TARGET': '2001:db8::1', 'TTL': '3600'}}, 'CNAME': {'ftp.example.com.': 'www'}}"},
		{[]any{nil, "e. IN SOA n. h.e. 1 3H 15 2W 30D\n@ IN MX 10 mail\n@ IN MX 20 more\n"},
			"{'ORIGIN': 'e.', 'NETWORK': 'IN', 'SOURCE': 'n.', 'CONTACT': 'h@e.', " +
				"'SERIAL': '1', 'REFRESH': 10800, 'RETRY': 15, 'EXPIRE': 604800, 'MINTTL': 604800, 'MX': [{'priority': '10', 'host': 'mail'}]}"},
		{[]any{"/nosuch"}, "'Error: Zone data was not found'"},
	} {
		for range 2 {
			if got, err := r.Invoke(t.Context(), "dnsutil.parse_zone", tt.args, nil); err != nil ||
				data.Repr(got) != tt.want {
				t.Errorf("%s\n got %s, %v\nwant %s", data.Repr(tt.args), data.Repr(got), err, tt.want)
			}
		}
	}
	for text, want := range map[string]string{
		"www 1 IN A 1.2.3.4": "KeyError: 'ORIGIN'", "$TTL": "IndexError: list index out of range",
		"x.":                              "IndexError: list index out of range",
		"e. IN SOA a b":                   "IndexError: list index out of range",
		"$NS x\na. IN NS b":               "AttributeError: 'str' object has no attribute 'append'",
		"e. IN SOA n. h.e. 1 1H30M 1 1 1": "ValueError: invalid literal for int() with base 10: '130M'",
		strings.Repeat("e.@@ IN SOA @ @ 1 1 1 1 1\n", 40): "a record has",
	} {
		if got, err := r.Invoke(t.Context(), "dnsutil.parse_zone", nil,
			data.NewMap("zone", text)); !strings.Contains(calls.Text(err), want) {
			t.Errorf("%q returned %s, %q, want %s", text, data.Repr(got), calls.Text(err), want)
		}
	}
}

// FuzzZone checks that no zone makes the parser panic.
func FuzzZone(f *testing.F) {
	f.Add(zoneText)
	f.Add("$A\n(\n)\nIN IN IN A\n@ SOA")
	f.Fuzz(func(t *testing.T, text string) {
		m := &module{env: &loader.Env{}}
		_, _ = m.parseZone(t.Context(), parseZoneArgs{Zone: text})
	})
}

// TestSerial checks that the number grows with each update, within a day and from day to day.
func TestSerial(t *testing.T) {
	kept := data.NewMap()
	grains := loader.Plugin{Name: "grains", New: func(*loader.Env) (*loader.Module, error) {
		return &loader.Module{Funcs: []loader.Func{
			loader.F("get", func(_ context.Context, a struct{ Key string }) (any, error) {
				if kept.Has(a.Key) {
					return kept.Value(a.Key), nil
				}
				return "", nil
			}),
			loader.F("setval", func(_ context.Context, a struct {
				Key string
				Val any
			}) (any, error) {
				kept.Set(a.Key, a.Val)
				return nil, nil
			}),
		}}, nil
	}}
	day := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	r, err := loader.NewRegistry(&loader.Env{},
		[]loader.Plugin{grains, {Name: "dnsutil", New: func(env *loader.Env) (*loader.Module, error) {
			return newModule(&module{env: env, now: func() time.Time { return day }})
		}}})
	if err != nil {
		t.Fatal(err)
	}
	serial := func(args ...any) string {
		v, err := r.Invoke(t.Context(), "dnsutil.serial", args, nil)
		if err != nil {
			t.Fatal(err)
		}
		return data.Repr(v)
	}
	got := []string{serial("e"), data.Repr(kept), serial("e", true), serial("e", true),
		serial("e"), serial("e")}
	day = day.AddDate(0, 0, 1)
	got = append(got, serial("e"), serial("e", true), serial("", true), data.Repr(kept))
	want := "'2026112301' {} '2026112301' '2026112302' '2026112302' '2026112302' '2026112302' '2026112401' '2026112401' " +
		"{'dnsserial_e': '2026112401', 'dnsserial': '2026112401'}"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}
