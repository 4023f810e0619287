package job_test

import (
	"errors"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/vectors"
	"github.com/brineproject/brine/job"
)

func TestVectorJID(t *testing.T) {
	f := vectors.Load(t, "12-args.json")
	vectors.Later(t, f, []string{"jid"}, map[string]string{
		"yamlify_arg": "loader", "parse_kwarg": "loader", "parse_input": "loader",
		"parse_input_typed": "loader", "condition_input": "loader",
	})
	for _, c := range f.Section("jid") {
		t.Run(c.Name, func(t *testing.T) {
			c := c.On(t)
			c.Only("input", "is_jid", "jid_to_time", "jid_to_time_error", "jid_dir_md5", "jid_dir_sha256")
			in := c.Value("input")
			s, isText := in.(string)
			if isText && job.Looks(s) != c.Bool("is_jid") {
				t.Errorf("Looks(%q) = %v", s, job.Looks(s))
			}
			if _, err := job.ParseID(s); err == nil && !c.Bool("is_jid") {
				t.Errorf("ParseID takes %q", s)
			}
			for _, hash := range []string{"md5", "sha256"} {
				dir, err := job.ID(data.Str(in)).Dir(hash)
				if want := c.Text("jid_dir_" + hash); err != nil || "ROOT/"+dir != want {
					t.Errorf("Dir(%s) = %s, %v, want %s", hash, dir, err, want)
				}
			}
			want := ""
			if !c.Has("jid_to_time_error") {
				want = c.Text("jid_to_time")
			}
			if got := job.ID(data.Str(in)).StartTime(); got != want {
				t.Errorf("StartTime = %q, want %q", got, want)
			}
		})
	}
}

func TestNewID(t *testing.T) {
	at := time.Date(2026, 11, 21, 8, 34, 43, 92771999, time.FixedZone("", 3600))
	id := job.NewID(at)
	if id != "20261121073443092771" {
		t.Errorf("NewID = %s", id)
	}
	if back, err := id.Time(); err != nil || !back.Equal(at.Truncate(time.Microsecond)) {
		t.Errorf("Time = %v, %v", back, err)
	}
	if got := id.StartTime(); got != "2026, Nov 21 07:34:43.092771" {
		t.Errorf("StartTime = %s", got)
	}
}

func TestParseIDRefusesInvalidFileNames(t *testing.T) {
	for _, s := range []string{"", "req", "20231108123456789012_", "20231108123456789012_../x",
		"20231108123456789012_-1", "2023110812345678901\n", "+0231108123456789012",
		"20231108123456789012_1_2", "२०२३११०८१२३४५६७८९०१२"} {
		if id, err := job.ParseID(s); !errors.Is(err, job.ErrID) {
			t.Errorf("ParseID(%q) = %q, %v", s, id, err)
		}
	}
	if id, err := job.ParseID("20231108123456789012_4711"); err != nil || id != "20231108123456789012_4711" {
		t.Errorf("ParseID = %q, %v", id, err)
	}
	if _, err := job.ID("20231308123456789012").Time(); err == nil {
		t.Error("month 13 has a time")
	}
}

func TestValidID(t *testing.T) {
	long := job.ID(strings.Repeat("x", 64))
	for id, want := range map[job.ID]bool{"20231108123456789012": true,
		"20231108123456789012_4711": true, "deploy-web_7": true, "req": true, long: true,
		"": false, long + "x": false, "-rf": false, ".": false, "a/b": false, "a b": false,
		"a\n": false, "a\x00": false, "é": false} {
		if got := job.ValidID(id); got != want {
			t.Errorf("ValidID(%q) = %t", id, got)
		}
	}
}

func TestIDsRise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ids, now := job.NewIDs(nil), time.Now()
		var last job.ID
		for range 100 {
			id := ids.Next() // the clock of the bubble stands still
			if id <= last {
				t.Fatalf("%s after %s", id, last)
			}
			last = id
		}
		if want := job.NewID(now.Add(99 * time.Microsecond)); last != want {
			t.Errorf("last = %s, want %s", last, want)
		}
	})
	back := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ids := job.NewIDs(func() time.Time { back = back.Add(-time.Hour); return back })
	if a, b := ids.Next(), ids.Next(); b <= a {
		t.Errorf("%s after %s when the clock goes back", b, a)
	}
}

func TestLooks(t *testing.T) {
	for s, want := range map[string]bool{
		"20231108123456789012": true, "20231108123456789012_x/../y": true, "20231108123456789012_": false,
		" 2023110812345678901": true, "+2023110812345678901": true, "2023_110812345678901": true,
		"2023__10812345678901": false, "2023110812345678901x": false,
		"20231108123456789012x1": false, "": false,
	} {
		if job.Looks(s) != want {
			t.Errorf("Looks(%q) = %v", s, !want)
		}
	}
	if _, err := job.ID("1").Dir("crc32"); err == nil {
		t.Error("crc32 is a hash_type")
	}
}

func TestUniqueIDs(t *testing.T) {
	id := job.NewUniqueIDs(nil).Next()
	if _, err := job.ParseID(string(id)); err != nil || len(id) < 22 {
		t.Errorf("%s: %v", id, err)
	}
}

func TestVectorPublicationsSurviveTheStruct(t *testing.T) {
	f := vectors.Load(t, "06-publish.json")
	for _, s := range f.Sections() {
		for _, c := range f.Section(s) {
			for _, pub := range c.Sub("publications") {
				if !pub.Has("load") {
					continue
				}
				t.Run(s+"/"+c.Name, func(t *testing.T) {
					load := pub.On(t).Object("load")
					p, err := job.ParsePublication(load)
					if err != nil {
						t.Fatal(err)
					}
					if got, want := data.Repr(p.Map()), data.Repr(load); got != want {
						t.Errorf("got  %s\nwant %s", got, want)
					}
				})
			}
		}
	}
}

func TestVectorReturnsSurviveTheStruct(t *testing.T) {
	f, n := vectors.Load(t, "05-request.json"), 0
	for _, s := range []string{"requests", "during_jobs"} {
		for _, c := range f.Section(s) {
			for _, load := range loads(c.Map) {
				if load.Text("cmd") != "_return" || !load.Has("jid") || !load.Has("return") {
					continue
				}
				n++
				t.Run(c.Name, func(t *testing.T) {
					r, err := job.ParseReturn(load)
					if err != nil {
						t.Fatal(err)
					}
					if !data.Equal(r.Map(), load) {
						t.Errorf("got  %s\nwant %s", data.Repr(r.Map()), data.Repr(load))
					}
				})
			}
		}
	}
	if n < 5 {
		t.Errorf("only %d returns in the vectors", n)
	}
}

// loads finds the maps called request_load in a case, at any depth.
func loads(v any) (found []*data.Map) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			found = append(found, loads(e)...)
		}
	case *data.Map:
		if m, ok := v.Value("request_load").(*data.Map); ok {
			found = append(found, m)
		}
		for _, e := range v.All() {
			found = append(found, loads(e)...)
		}
	}
	return found
}

func TestBadLoads(t *testing.T) {
	for name, m := range map[string]*data.Map{
		"empty":          data.NewMap(),
		"nil":            nil,
		"no target":      data.NewMap("fun", "test.ping", "jid", "1"),
		"fun is a map":   data.NewMap("fun", data.NewMap(), "tgt", "*", "jid", "1"),
		"fun of numbers": data.NewMap("fun", []any{1.5}, "tgt", "*", "jid", "1"),
		"arg is text":    data.NewMap("fun", "test.ping", "arg", "x", "tgt", "*", "jid", "1"),
		"target is null": data.NewMap("fun", "test.ping", "tgt", nil, "jid", "1"),
		"jid is bytes":   data.NewMap("fun", "test.ping", "tgt", "*", "jid", []byte("x")),
		"to is text":     data.NewMap("fun", "test.ping", "tgt", "*", "jid", "1", "to", "x"),
	} {
		if _, err := job.ParsePublication(m); !errors.Is(err, job.ErrLoad) {
			t.Errorf("publication, %s: %v", name, err)
		}
	}
	for name, m := range map[string]*data.Map{
		"no return":  data.NewMap("id", "a", "jid", "1"),
		"id is list": data.NewMap("id", []any{}, "jid", "1", "return", nil),
	} {
		if _, err := job.ParseReturn(m); !errors.Is(err, job.ErrLoad) {
			t.Errorf("return, %s: %v", name, err)
		}
	}
}

func TestUnknownFieldsAreKept(t *testing.T) {
	in := data.NewMap("cmd", "_return", "id", "web1", "return", data.Raw{0xc3}, "jid", "req",
		"fun", "test.ping", "arg", []any{}, int64(5), big.NewInt(6), "schedule", "s")
	r, err := job.ParseReturn(in)
	if err != nil {
		t.Fatal(err)
	}
	if !data.Equal(r.Map(), in) || r.JID != job.Req {
		t.Errorf("got %s", data.Repr(r.Map()))
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("20231108123456789012_1")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := job.ParseID(s)
		if err == nil && !job.Looks(s) {
			t.Errorf("ParseID takes %q, Salt does not", s)
		}
		if err == nil && len(id.StartTime()) == 0 && s[4:6] >= "01" && s[4:6] <= "12" {
			t.Errorf("no start time for %q", s)
		}
		job.ID(s).StartTime()
		job.ID(s).Time()
	})
}
