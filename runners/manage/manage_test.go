package manage

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/payload"
	"github.com/brineproject/brine/pki"
	"github.com/brineproject/brine/runners"
	"github.com/brineproject/brine/version"
)

// site is a master with the accepted minions web1, web2 and db1; the addresses of web1 are cached.
func site(
	t *testing.T, connected func() ([]string, error), answers *data.Map,
) (*loader.Registry, *[]*data.Map) {
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
	for _, id := range []string{"web1", "web2", "db1"} {
		if err := keys.Put(pki.Accepted, id, key.Public().PEM()); err != nil {
			t.Fatal(err)
		}
	}
	bank, err := localfs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bank.Close() })
	raw, err := payload.MarshalBin(data.NewMap("grains",
		data.NewMap("ipv4", []any{"127.0.0.1", "192.0.2.7"}), "pillar", data.NewMap()))
	if err != nil {
		t.Fatal(err)
	}
	if err := bank.Store("minions/web1", "data", raw); err != nil {
		t.Fatal(err)
	}
	orders := &[]*data.Map{}
	env := &loader.Env{Root: dir, Opts: data.NewMap("timeout", int64(5),
		"gather_job_timeout", int64(10), "minion_data_cache", true, "publish_port", int64(4505),
		"nodegroups", data.NewMap("webs", "web*"))}
	env.Host.Order = func(_ context.Context, order *data.Map, yield func(string, *data.Map) bool) error {
		*orders = append(*orders, order)
		for id, a := range answers.All() {
			m, _ := a.(*data.Map)
			yield(id.(string), m)
		}
		return nil
	}
	r, err := loader.NewRegistry(env,
		[]loader.Plugin{Plugin(Needs{Keys: keys, Bank: bank, Connected: connected})})
	if err != nil {
		t.Fatal(err)
	}
	return r, orders
}

func expect(t *testing.T, r *loader.Registry, fun string, kwargs *data.Map, want string) {
	t.Helper()
	got, err := r.Invoke(t.Context(), "manage."+fun, nil, kwargs)
	if err != nil || data.Repr(got) != want {
		t.Errorf("%s(%s) is %s, %v, want %s", fun, data.Repr(kwargs), data.Repr(got), err, want)
	}
}

// TestConnectionsAnswer tests with a Brine master, which knows the connected minions: no minion is
// contacted.
func TestConnectionsAnswer(t *testing.T) {
	r, orders := site(t, func() ([]string, error) { return []string{"gone", "web1"}, nil }, nil)
	for range 2 {
		expect(t, r, "up", nil, "['web1']")
		expect(t, r, "down", nil, "['db1', 'web2']")
		expect(t, r, "status", nil, "{'up': ['web1'], 'down': ['db1', 'web2']}")
		expect(t, r, "status", data.NewMap("tgt", "webs", "tgt_type", "nodegroup"),
			"{'up': ['web1'], 'down': ['web2']}")
		expect(t, r, "down", data.NewMap("tgt", "nosuch*"), "[]")
	}
	for _, fun := range strings.Fields("list_state present joined allowed alived reaped") {
		expect(t, r, fun, nil, "['gone', 'web1']")
		expect(t, r, fun, data.NewMap("subset", []any{"web1", "db1"}), "['web1']")
	}
	for _, fun := range strings.Fields("list_not_state not_present not_joined not_allowed not_alived not_reaped") {
		expect(t, r, fun, nil, "['db1', 'web2']")
		expect(t, r, fun, data.NewMap("subset", "web2,x"), "['web2']")
	}
	expect(t, r, "present", data.NewMap("show_ip", true), "{'gone': None, 'web1': '192.0.2.7'}")
	if len(*orders) > 0 {
		t.Errorf("minions were asked: %s", data.Repr((*orders)[0]))
	}
}

// TestMinionsArePingedWithSaltMaster tests with unknown connections.
func TestMinionsArePingedWithSaltMaster(t *testing.T) {
	unknown := func() ([]string, error) { return nil, ErrUnknown }
	r, orders := site(t, unknown, data.NewMap("web2", data.NewMap("ret", true),
		"web1", data.NewMap("ret", true), "db1", nil))
	expect(t, r, "status", data.NewMap("timeout", int64(2)), "{'up': ['web1', 'web2'], 'down': ['db1']}")
	if o := (*orders)[0]; o.Text("fun") != "test.ping" || o.Value("timeout") != int64(2) ||
		o.Value("silent") != true || o.Value("connected") != false {
		t.Errorf("order %s", data.Repr(o))
	}
}

// TestMinionsBehindSyndicsArePinged asks the minions that the lower masters know as connected. Before keys
// are deleted it waits for all.
func TestMinionsBehindSyndicsArePinged(t *testing.T) {
	known := func() ([]string, error) { return []string{"web1"}, nil }
	r, orders := site(t, known, data.NewMap("leaf1", data.NewMap("ret", true), "leaf2", nil))
	r.Env().Opts.Set("order_masters", true)
	expect(t, r, "status", nil, "{'up': ['leaf1'], 'down': ['leaf2']}")
	expect(t, r, "up", nil, "['leaf1']")
	expect(t, r, "down", nil, "['leaf2']")
	if _, err := r.Invoke(t.Context(), "manage.down", nil, data.NewMap("removekeys", true)); err == nil {
		t.Error("without a function that deletes keys, down(removekeys=True) succeeds")
	}
	for i, want := range []bool{true, true, true, false} {
		if o := (*orders)[i]; o.Value("connected") != want {
			t.Errorf("order %d waits for connected minions only: %v, want %v", i, o.Value("connected"), want)
		}
	}
}

// TestConnectionsAreFoundInTheSystem reads Linux's connection tables if the connections are
// otherwise unknown.
func TestConnectionsAreFoundInTheSystem(t *testing.T) {
	r, _ := site(t, nil, nil)
	dir := r.Env().Root
	table := "  sl  local_address rem_address   st\n" +
		"   0: 0100007F:1199 070200C0:A000 01\n" + // 4505 from 192.0.2.7
		"   1: 0100007F:1199 080200C0:A000 06\n" +
		"   2: 0100007F:0016 090200C0:A000 01\n   3: garbage\n"
	if err := os.MkdirAll(dir+"/proc/net", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/proc/net/tcp", []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, r, "present", nil, "['web1']")
	peers, err := peersOf(dir, 4505)
	if err != nil || len(peers) != 1 || !peers[netip.MustParseAddr("192.0.2.7")] {
		t.Errorf("peers %v, %v", peers, err)
	}
}

func FuzzParsePeer(f *testing.F) {
	f.Add("0100007F:1199")
	f.Add("00000000000000000000000001000000:1199")
	f.Fuzz(func(t *testing.T, s string) {
		if p, ok := parsePeer(s); ok && !p.IsValid() {
			t.Errorf("%q gives %v", s, p)
		}
	})
}

func TestVersions(t *testing.T) {
	own := version.Salt()
	r, _ := site(t, nil, data.NewMap("web2", data.NewMap("ret", own),
		"web1", data.NewMap("ret", "3004.2"), "db1", data.NewMap("ret", "9999.0"),
		"odd", data.NewMap("ret", "x", "retcode", int64(1))))
	expect(t, r, "versions", nil, "{'Minion offline': {'odd': False}, 'Minion requires update': {'web1': '3004.2'}, 'Up to date': {'web2': '"+own+
		"'}, 'Minion newer than master': {'db1': '9999.0'}, 'Master': '"+own+"'}")
	for _, tt := range [][3]string{{"3006.0", "3006.1", "Minion requires update"},
		{"3006.0rc2", "3006.0", "Minion requires update"}, {"3006", "3006.0", "Up to date"},
		{"3007.1+35.g1", "3007.0", "Minion newer than master"}, {"2019.2.0", "3006.0",
			"Minion requires update"}} {
		if got := compared(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%s beside %s: %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}

func TestWhatNeedsSSHIsRefused(t *testing.T) {
	r, _ := site(t, nil, nil)
	for _, fun := range []string{"bootstrap", "bootstrap_psexec", "safe_accept"} {
		_, err := r.Invoke(t.Context(), "manage."+fun, nil,
			map[bool]*data.Map{true: data.NewMap("target", "x")}[fun == "safe_accept"])
		if _, ok := err.(*runners.UnableError); !ok {
			t.Errorf("%s: %v", fun, err)
		}
	}
}

func TestKeyRegenKeepsTheMastersKeys(t *testing.T) {
	r, orders := site(t, nil, nil)
	for range 2 {
		if v, err := r.Invoke(t.Context(), "manage.key_regen", nil, nil); err != nil ||
			!strings.Contains(data.Str(v), "salt-key -A") {
			t.Errorf("key_regen: %v, %v", v, err)
		}
	}
	if (*orders)[0].Text("fun") != "saltutil.regen_keys" {
		t.Errorf("order %s", data.Repr((*orders)[0]))
	}
	expect(t, r, "list_not_state", nil, "[]")
}
