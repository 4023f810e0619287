package auth

import (
	"testing"

	"github.com/brineproject/brine/data"
)

// TestRightsOfLater takes rights from users after they have proved themselves: what is kept of them
// gives none that they do not have any more.
func TestRightsOfLater(t *testing.T) {
	list := data.NewMap("jane", []any{"test.*"})
	for _, tt := range []struct {
		name   string
		s      Standing
		before bool
		after  bool
	}{
		{"key", Standing{Name: "jane", Kind: ByKey}, true, false},
		{"key of another", Standing{Name: "joe", Kind: ByKey}, false, false},
		{"token", Standing{Name: "jane", Kind: ByToken, System: "auto"}, true, false},
		{"eauth", Standing{Name: "jane", Kind: ByEauth, System: "auto"}, true, false},
		{"group", Standing{Name: "jim", Kind: ByEauth, System: "auto", Groups: []string{"ops"}}, true, false},
		{"another system", Standing{Name: "jane", Kind: ByEauth, System: "pam"}, false, false},
		{"root", Standing{Name: "root", Kind: ByKey, Full: true}, true, true},
		{"a user called root", Standing{Name: "root", Kind: ByEauth, System: "auto"}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{User: me(t), CacheDir: t.TempDir(), TokenDir: t.TempDir(),
				HashType: "sha256", PublisherACL: list, Log: quiet(t),
				ExternalAuth: data.NewMap("auto",
					data.NewMap("jane", []any{"test.*"}, "ops%", []any{"test.ping"})),
				System: func(string) (System, error) { return &people{}, nil }}
			g, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Tokens().Close()
			raw, err := tt.s.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			s, err := ParseStanding(raw)
			if err != nil {
				t.Fatal(err)
			}
			may := func() bool {
				who, err := g.Now(t.Context(), s)
				return err == nil && who.MayPublish(Publication{Fun: "test.ping", Minions: []string{"web1"}})
			}
			if got := may(); got != tt.before {
				t.Errorf("before: %v", got)
			}
			o.PublisherACL, o.ExternalAuth = data.NewMap(),
				data.NewMap("auto", data.NewMap("other", []any{"test.*"}))
			if err := g.SetOptions(o); err != nil {
				t.Fatal(err)
			}
			if got := may(); got != tt.after {
				t.Errorf("after: %v", got)
			}
		})
	}
}

// TestNoStanding reads what is no standing: it is nobody's.
func TestNoStanding(t *testing.T) {
	for _, raw := range [][]byte{nil, []byte("x"), {0x80}, {0xc0}} {
		if s, err := ParseStanding(raw); err == nil {
			t.Errorf("%x is %+v", raw, s)
		}
	}
}
