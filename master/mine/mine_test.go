package mine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/cache/localfs"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/match"
	"github.com/brineproject/brine/payload"
)

func open(t testing.TB) (*Store, string) {
	t.Helper()
	dir := t.TempDir()
	bank, err := localfs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bank.Close() })
	return NewStore(bank), dir
}

func wire(t testing.TB, v any) data.Raw {
	t.Helper()
	raw, err := payload.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func update(t testing.TB, s *Store, id string, values *data.Map, replace bool) {
	t.Helper()
	if err := s.Update(id, wire(t, values), replace); err != nil {
		t.Fatal(err)
	}
}

// onDisk returns the file of a mine as Salt reads it.
func onDisk(t testing.TB, dir, id string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "minions", id, "mine.p"))
	if err != nil {
		return err.Error()
	}
	v, err := payload.UnmarshalText(raw, payload.WireLimits())
	if err != nil {
		t.Fatal(err)
	}
	return data.Repr(v)
}

func TestUpdate(t *testing.T) {
	s, dir := open(t)
	for _, tt := range []struct {
		values  *data.Map
		replace bool
		want    string
	}{
		{data.NewMap("a", int64(1), "b", data.NewMap("x", "ä")), false, "{'a': 1, 'b': {'x': 'ä'}}"},
		{data.NewMap("b", nil, "c", []byte{0xff}), false, `{'a': 1, 'b': None, 'c': b'\xff'}`},
		{data.NewMap("b", nil, "c", []byte{0xff}), false, `{'a': 1, 'b': None, 'c': b'\xff'}`},
		{data.NewMap("d", true), true, "{'d': True}"},
		{data.NewMap(), true, "{}"},
	} {
		update(t, s, "web1", tt.values, tt.replace)
		if got := onDisk(t, dir, "web1"); got != tt.want {
			t.Errorf("after %s, replace %v: %s, want %s", data.Repr(tt.values), tt.replace, got, tt.want)
		}
	}
}

func TestUpdateRefuses(t *testing.T) {
	s, dir := open(t)
	update(t, s, "web1", data.NewMap("a", int64(1)), false)
	many := data.NewMap()
	for i := range MaxFunctions {
		many.Set(fmt.Sprint(i), nil)
	}
	for _, tt := range []struct {
		name   string
		values any
		want   error
	}{
		{"no dictionary", []any{"a"}, ErrMalformed},
		{"nothing", nil, ErrMalformed},
		{"a name that is no text", data.NewMap(int64(1), "x"), ErrMalformed},
		{"too many functions", many, ErrTooBig},
		{"too many bytes", data.NewMap("b", strings.Repeat("x", MaxSize)), ErrTooBig},
	} {
		if err := s.Update("web1", wire(t, tt.values), false); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if err := s.Update("web1", data.Raw{0xc1}, false); !errors.Is(err, ErrMalformed) {
		t.Errorf("rubbish: %v", err)
	}
	for _, id := range []string{"", "..", "a/../../b", ".hidden"} {
		if err := s.Update(id, wire(t, data.NewMap("a", 1)), false); err == nil {
			t.Errorf("minion %q has a mine", id)
		}
	}
	if got := onDisk(t, dir, "web1"); got != "{'a': 1}" {
		t.Errorf("the mine is %s", got)
	}
}

func TestDeleteAndFlush(t *testing.T) {
	s, dir := open(t)
	if ok, err := s.Delete("web1", "a"); ok || err != nil {
		t.Errorf("Delete without a mine = %v, %v", ok, err)
	}
	update(t, s, "web1", data.NewMap("a", int64(1), "b", int64(2)), false)
	for range 2 {
		if ok, err := s.Delete("web1", "a"); !ok || err != nil {
			t.Errorf("Delete = %v, %v", ok, err)
		}
		if got := onDisk(t, dir, "web1"); got != "{'b': 2}" {
			t.Errorf("the mine is %s", got)
		}
	}
	for range 2 {
		if err := s.Flush("web1"); err != nil {
			t.Error(err)
		}
	}
	if got := onDisk(t, dir, "web1"); !strings.Contains(got, "no such file") {
		t.Errorf("the mine is %s", got)
	}
}

// TestManyAtOnce has functions arrive at once: none is lost.
func TestManyAtOnce(t *testing.T) {
	s, _ := open(t)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() { update(t, s, "web1", data.NewMap(fmt.Sprint(i), int64(i)), false) })
	}
	all.Wait()
	if n := len(s.read("web1")); n != 50 {
		t.Errorf("%d functions are there", n)
	}
}

// known is what a master knows of some minions.
type known map[string][2]*data.Map

func (k known) Minion(id string) (grains, pillar *data.Map, ok bool) {
	m, ok := k[id]
	return m[0], m[1], ok
}

func (k known) IDs() (ids []string) {
	for id := range k {
		ids = append(ids, id)
	}
	return ids
}

// rules are those of a master with four minions; of new1 nothing is known.
func rules() Rules {
	of := func(role, secret string) [2]*data.Map {
		return [2]*data.Map{data.NewMap("role", role), data.NewMap("secret", secret)}
	}
	return FleetRules(func() (*match.Fleet, error) {
		return &match.Fleet{Accepted: []string{"db1", "new1", "web1", "web2"}, DataCache: true,
			Cache: known{"web1": of("web", "s1"), "web2": of("web", "s2"), "db1": of("db", "d1")}}, nil
	})
}

func TestGet(t *testing.T) {
	s, _ := open(t)
	for _, id := range []string{"web1", "web2", "db1", "new1"} {
		update(t, s, id, data.NewMap("all", "of "+id,
			"web", Wrap("for web", "G@role:web", "compound"), "one", Wrap("for web1", "web1", nil),
			"notdb", Wrap("not for db", "not G@role:db", "compound"), "bad", Wrap("for nobody", "(",
				"pcre"), "half", data.NewMap(marker, int64(1), allowTarget, "*"),
			"open", data.NewMap(wrapped, "unwrapped", marker, int64(1))), false)
	}
	for _, tt := range []struct {
		name, requester string
		tgt             any
		kind            string
		fun             any
		want            string
	}{
		{"one function", "db1", "web*", "glob", "all", "{'web1': 'of web1', 'web2': 'of web2'}"},
		{"one in a list", "db1", "web1", "", []any{"all"}, "{'all': {'web1': 'of web1'}}"},
		{"several in a text", "db1", "web1", "", "open,all",
			"{'all': {'web1': 'of web1'}, 'open': {'web1': 'unwrapped'}}"},
		{"the same twice in a text", "db1", "web1", "", "all,all", "{'web1': 'of web1'}"},
		{"what is not there", "db1", "*", "", "nosuch", "{}"},
		{"a number", "db1", "*", "", int64(7), "{}"},
		{"wrapped without a target", "db1", "web1", "", "open", "{'web1': 'unwrapped'}"},
		{"wrapped without a value", "web1", "web1", "", "half", "{}"},
		{"for a role, to one that has it", "web2", "web1", "", "web", "{'web1': 'for web'}"},
		{"for a role, to one that has it not", "db1", "web1", "", "web", "{}"},
		{"for a role, to one of which nothing is known", "new1", "web1", "", "web", "{}"},
		{"for others than a role, to one of which nothing is known", "new1", "web1", "", "notdb", "{}"},
		{"for others than a role, to one of another", "web2", "web1", "", "notdb", "{'web1': 'not for db'}"},
		{"for one id", "web1", "web2", "", "one", "{'web2': 'for web1'}"},
		{"for one id, to another", "web2", "web2", "", "one", "{}"},
		{"for a target that cannot be read", "web1", "web1", "", "bad", "{}"},
		{"to a stranger", "nobody", "web1", "", "one", "{}"},
		{"a grain", "web1", "role:web", "grain", "all", "{'web1': 'of web1', 'web2': 'of web2'}"},
		{"a grain of which nothing is known", "web1", "role:*", "grain", "all",
			"{'db1': 'of db1', 'web1': 'of web1', 'web2': 'of web2'}"},
		{"pillar by its whole value", "web1", "secret:s2", "pillar", "all", "{'web2': 'of web2'}"},
		{"pillar by a pattern", "web1", "secret:s*", "pillar", "all", "{}"},
		{"pillar by a regular expression", "web1", "secret:s.*", "pillar_pcre", "all", "{}"},
		{"pillar by a pattern in a compound", "web1", "I@secret:s* or J@secret:s.*", "compound", "all", "{}"},
		{"pillar by its value in a compound", "web1", "I@secret:s1", "compound", "all",
			"{'web1': 'of web1'}"},
		{"an unknown kind", "web1", "*", "nosuch", "all", "{}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found, _ := s.Get(Query{tt.requester, tt.tgt, tt.kind, tt.fun}, rules())
			plain, err := Decoded(found)
			if got := data.Repr(plain); got != tt.want || err != nil {
				t.Errorf("gives %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestGetAllowed(t *testing.T) {
	s, _ := open(t)
	update(t, s, "web1", data.NewMap("a", int64(1), "b", int64(2)), false)
	r := rules()
	r.Allowed = func(id, fun string) bool { return id == "db1" && fun == "a" }
	for _, tt := range []struct {
		id   string
		fun  any
		want string
	}{{"db1", "a", "{'web1': 1}"}, {"db1", "b", "{}"}, {"db1", "a,b", "{'a': {'web1': 1}}"},
		{"web1", "a", "{}"}} {
		found, err := s.Get(Query{tt.id, "*", "glob", tt.fun}, r)
		plain, err2 := Decoded(found)
		if got := data.Repr(plain); got != tt.want || err != nil || err2 != nil {
			t.Errorf("%s asks for %s: %s, %v, %v, want %s", tt.id, tt.fun, got, err, err2, tt.want)
		}
	}
}

func TestParseDefinition(t *testing.T) {
	for _, tt := range []struct {
		in   any
		want Definition
	}{
		{[]any{}, Definition{"", []any{}, data.NewMap(), nil, nil}},
		{nil, Definition{"", []any{}, data.NewMap(), nil, nil}},
		{[]any{"eth0", data.NewMap("cidr", "10.0.0.0/8")},
			Definition{"", []any{"eth0"}, data.NewMap("cidr", "10.0.0.0/8"), nil, nil}},
		{data.NewMap("mine_function", "network.ip_addrs", "interface", "eth0", "allow_tgt", "G@a:b",
			"allow_tgt_type", "compound"),
			Definition{"network.ip_addrs", []any{}, data.NewMap("interface", "eth0"), "G@a:b", "compound"}},
		{[]any{data.NewMap("mine_function", "test.arg"), "x", data.NewMap("allow_tgt", "")},
			Definition{"test.arg", []any{"x"}, data.NewMap(), nil, nil}},
	} {
		before := data.Repr(tt.in)
		got := ParseDefinition(tt.in)
		if got.Fun != tt.want.Fun || !data.Equal(got.Args, tt.want.Args) ||
			!data.Equal(got.Kwargs, tt.want.Kwargs) || got.Target != tt.want.Target ||
			got.Kind != tt.want.Kind {
			t.Errorf("ParseDefinition(%s) = %+v", before, got)
		}
		if data.Repr(tt.in) != before {
			t.Errorf("ParseDefinition changed %s to %s", before, data.Repr(tt.in))
		}
	}
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		target, kind any
		want         string
	}{
		{"web*", "glob", "{'__data__': 1, '__saltmine_acl__': 1, 'allow_tgt': 'web*', 'allow_tgt_type': 'glob'}"},
		{"web*", nil, "{'__data__': 1, '__saltmine_acl__': 1, 'allow_tgt': 'web*'}"},
		{nil, "glob", "{'__data__': 1, '__saltmine_acl__': 1}"},
	} {
		w := Wrap(int64(1), tt.target, tt.kind)
		if got := data.Repr(w); got != tt.want || Unwrap(w) != int64(1) {
			t.Errorf("Wrap = %s, want %s", got, tt.want)
		}
	}
	if Unwrap("x") != "x" {
		t.Error("Unwrap changes what is not wrapped")
	}
}

// TestVectorMine reads what Salt's master has written, and writes the same bytes.
func TestVectorMine(t *testing.T) {
	seen := 0
	for _, c := range vectors.Load(t, "09-disk.json").Section("minion_data_cache") {
		for _, f := range c.Sub("files") {
			if f.Text("path") != "mine.p" {
				continue
			}
			seen++
			s, dir := open(t)
			values := f.Value("decoded_utf8").(*data.Map)
			update(t, s, "web1", values, false)
			if raw, err := os.ReadFile(filepath.Join(dir, "minions/web1/mine.p")); err != nil ||
				!bytes.Equal(raw, f.Bytes("bytes")) {
				t.Errorf("%s is written as %x, %v", data.Repr(values), raw, err)
			}
			if err := s.bank.Store(Bank("db1"), key, f.Bytes("bytes")); err != nil {
				t.Fatal(err)
			}
			update(t, s, "db1", data.NewMap("more", int64(1)), false)
			if got, want := onDisk(t, dir, "db1"), strings.TrimSuffix(data.Repr(values), "}")+
				", 'more': 1}"; got != want {
				t.Errorf("became %s, want %s", got, want)
			}
		}
	}
	if seen != 3 {
		t.Errorf("%d files", seen)
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add([]byte{0x81, 0xa1, 'a', 1})
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, _ := open(t)
		if s.Update("web1", raw, false) != nil {
			return
		}
		found, err := s.Get(Query{"db1", "*", "glob", []any{"a", ""}}, rules())
		if err != nil {
			t.Error(err)
		}
		if _, err := Decoded(found); err != nil {
			t.Error(err)
		}
	})
}

// TestOneQueryDoesNotGetAllOfALargeMine asks for more bytes than one reply may have: the first are
// there, and that there are more is told.
func TestOneQueryDoesNotGetAllOfALargeMine(t *testing.T) {
	s, _ := open(t)
	if s.most != 64<<20 {
		t.Errorf("a query gets %d bytes", s.most)
	}
	s.most = 250
	ids := []string{"a", "b", "c", "d"}
	for _, id := range ids {
		update(t, s, id, data.NewMap("f", strings.Repeat("x", 100)), true)
	}
	rules := Rules{Resolve: func(any, string) ([]string, error) { return ids, nil },
		Inside: func(string, any, string) bool { return true }}
	for _, fun := range []any{"f", []any{"f"}} {
		found, err := s.Get(Query{Requester: "a", Target: "*", Fun: fun}, rules)
		if of, ok := found.Value("f").(*data.Map); ok {
			found = of
		}
		if !errors.Is(err, ErrTooMuch) || found.Len() != 2 ||
			!strings.Contains(err.Error(), "minions from c on") {
			t.Errorf("%d minions, %v", found.Len(), err)
		}
	}
	ids = ids[:2]
	if found, err := s.Get(Query{Requester: "a", Target: "*", Fun: "f"}, rules); err != nil ||
		found.Len() != 2 {
		t.Errorf("what fits: %d minions, %v", found.Len(), err)
	}
}
