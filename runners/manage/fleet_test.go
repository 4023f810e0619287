package manage

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/master/presence"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
)

// yard is a master with n accepted minions m00000 and on, whose grains are cached; every second one is
// connected.
func yard(t testing.TB, n int) *loader.Registry {
	t.Helper()
	dir := t.TempDir()
	keys, err := pki.Open(filepath.Join(dir, "pki"), pki.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := crypto.GenerateKey(2048)
	if err != nil {
		t.Fatal(err)
	}
	bank, err := localfs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bank.Close() })
	there := map[string]presence.Connection{"gone": {Host: "192.0.2.9"}}
	pem := key.Public().PEM()
	for i := range n {
		id := fmt.Sprintf("m%05d", i)
		if err := keys.Put(pki.Accepted, id, pem); err != nil {
			t.Fatal(err)
		}
		grains := data.NewMap("os", []string{"Debian", "Rocky"}[i%3/2], "ipv4", []any{"127.0.0.1", "192.0.2.7"},
			"systemd", data.NewMap("version", "252"), "more", strings.Repeat("x", 4000))
		raw, err := payload.MarshalBin(data.NewMap("grains", grains, "pillar", data.NewMap()))
		if err == nil {
			err = bank.Store("minions/"+id, "data", raw)
		}
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			there[id] = presence.Connection{Host: "10.0.0.1", Since: time.Unix(1e9, 0)}
		}
	}
	env := &loader.Env{Root: dir, Opts: data.NewMap("minion_data_cache", true, "nodegroups", data.NewMap("first", "m0000[0-3]",
		"secret", "I@a:b", "outer", "m* and N@secret"))}
	r, err := loader.NewRegistry(env, []loader.Plugin{Plugin(Needs{Keys: keys, Bank: bank,
		Connections: func() (map[string]presence.Connection, error) { return there, nil }})})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFleetIsListedInPages(t *testing.T) {
	r := yard(t, 7)
	expect(t, r, "fleet", data.NewMap("limit", int64(2), "grains", []any{"os", "systemd:version", "nosuch"}),
		"{'total': 7, 'connected': 4, 'minions': [{'id': 'm00000', 'connected': True, 'since': 1000000000, 'address': '10.0.0.1', "+
			"'grains': {'os': 'Debian', 'systemd:version': '252'}}, {'id': 'm00001', 'connected': False, 'since': None, "+
			"'address': '192.0.2.7', 'grains': {'os': 'Debian', 'systemd:version': '252'}}], 'next': 'm00001'}")
	for _, c := range []struct {
		kwargs *data.Map
		want   string
	}{
		{data.NewMap("after", "m00004"), "7 4 m00005 m00006 None"},
		{data.NewMap("after", "m00006"), "7 4 None"},
		{data.NewMap("after", "m00004x", "limit", int64(1)), "7 4 m00005 m00005"},
		{data.NewMap("connected", true, "limit", int64(3)), "7 4 m00000 m00002 m00004 m00004"},
		{data.NewMap("connected", true, "limit", int64(3), "after", "m00004"), "7 4 m00006 None"},
		{data.NewMap("connected", false), "7 4 m00001 m00003 m00005 None"},
		{data.NewMap("tgt", "os:Rocky", "tgt_type", "grain"), "2 1 m00002 m00005 None"},
		{data.NewMap("tgt", "first", "tgt_type", "nodegroup", "connected", true), "4 2 m00000 m00002 None"},
		{data.NewMap("tgt", []any{"m00003", "m00001", "m00003", "nosuch"}, "tgt_type", "list"), "2 0 m00001 m00003 None"},
		{data.NewMap("tgt", "nosuch*"), "0 0 None"},
	} {
		v, err := r.Invoke(t.Context(), "manage.fleet", nil, c.kwargs)
		if err != nil {
			t.Errorf("%s: %v", data.Repr(c.kwargs), err)
			continue
		}
		m := v.(*data.Map)
		got := []string{data.Str(m.Value("total")), data.Str(m.Value("connected"))}
		for _, one := range m.Value("minions").([]any) {
			got = append(got, one.(*data.Map).Text("id"))
		}
		if got := strings.Join(append(got, data.Str(m.Value("next"))), " "); got != c.want {
			t.Errorf("%s: %s, want %s", data.Repr(c.kwargs), got, c.want)
		}
	}
	for _, kwargs := range []*data.Map{data.NewMap("limit", int64(0)), data.NewMap("limit", int64(1001)),
		data.NewMap("tgt", "*", "tgt_type", "nosuch"), data.NewMap("tgt", "(", "tgt_type", "pcre")} {
		if v, err := r.Invoke(t.Context(), "manage.fleet", nil, kwargs); err == nil {
			t.Errorf("%s is %s, want an error", data.Repr(kwargs), data.Repr(v))
		}
	}
}

// TestFleetIsNotListedByPillar tests that nobody finds the values of a pillar by trying.
func TestFleetIsNotListedByPillar(t *testing.T) {
	r := yard(t, 1)
	for _, c := range [][2]any{
		{"a:b", "pillar"}, {"a:b", "pillar_pcre"}, {"a:b", "pillar_exact"}, {"I@a:b", "compound"}, {"m* or ( not J|@a|b )", "compound"},
		{"m*\x1cor\x1fI@a:b", "compound"}, {[]any{"m*", "and", "I@a:b"}, "compound"}, {"I@a:b", "compound_pillar_exact"},
		{"secret", "nodegroup"}, {"outer", "nodegroup"}, {"not N@outer", "compound"}, {"I@a:b and", "compound"},
	} {
		v, err := r.Invoke(t.Context(), "manage.fleet", nil, data.NewMap("tgt", c[0], "tgt_type", c[1]))
		if err == nil || !strings.Contains(err.Error(), "which could be found by trying") {
			t.Errorf("%v (%v): %s, %v", c[0], c[1], data.Repr(v), err)
		}
	}
	if _, err := r.Invoke(t.Context(), "manage.fleet", nil, data.NewMap("tgt", "L@I@a:b or N@first", "tgt_type", "compound")); err != nil {
		t.Errorf("a target without pillar: %v", err)
	}
}

// TestFleetWithoutAFileOfConnections tests with a master that knows its connected minions by their ids
// alone.
func TestFleetWithoutAFileOfConnections(t *testing.T) {
	r, _ := site(t, func() ([]string, error) { return []string{"web1"}, nil }, nil)
	expect(t, r, "fleet", data.NewMap("tgt", "web*"), "{'total': 2, 'connected': 1, 'minions': [{'id': 'web1', 'connected': True, "+
		"'since': None, 'address': '192.0.2.7', 'grains': {}}, {'id': 'web2', 'connected': False, 'since': None, 'address': None, "+
		"'grains': {}}], 'next': None}")
	r, _ = site(t, func() ([]string, error) { return nil, errors.New("no connections") }, nil)
	if v, err := r.Invoke(t.Context(), "manage.fleet", nil, nil); err == nil && v.(*data.Map).Value("connected") != int64(0) {
		t.Errorf("fleet is %s", data.Repr(v))
	}
}

// BenchmarkFleet gets a page of 100 minions with two grains. A target on grains must look at the grains
// of all.
func BenchmarkFleet(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		r := yard(b, n)
		for name, kwargs := range map[string]*data.Map{
			"all":   data.NewMap("grains", []any{"os", "osfinger"}),
			"last":  data.NewMap("grains", []any{"os", "osfinger"}, "after", fmt.Sprintf("m%05d", n-101)),
			"glob":  data.NewMap("tgt", "*7*", "grains", []any{"os"}),
			"grain": data.NewMap("tgt", "os:Rocky", "tgt_type", "grain"),
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := r.Invoke(b.Context(), "manage.fleet", nil, kwargs); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
