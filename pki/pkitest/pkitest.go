// Package pkitest tests the contract of pki.Store for any implementation.
package pkitest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/brineproject/brine/crypto"
	"github.com/brineproject/brine/pki"
)

// Keys are two different valid keys in canonical form.
type Keys struct{ A, B string }

// NewKeys generates Keys.
func NewKeys(t testing.TB) Keys {
	t.Helper()
	var texts [2]string
	for i := range texts {
		k, err := crypto.GenerateKey(2048)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = k.Public().PEM()
	}
	return Keys{texts[0], texts[1]}
}

type suite struct {
	Keys
	open func(testing.TB) pki.Store
}

// Run runs the tests. open must return an empty Store that accepts at least 100 pending keys.
func Run(t *testing.T, open func(testing.TB) pki.Store) {
	s := &suite{NewKeys(t), open}
	t.Run("a key is found in the state it was stored in", s.states)
	t.Run("a key is stored in its canonical form", s.canonical)
	t.Run("what is no good key is refused", s.badKeys)
	t.Run("create does not overwrite", s.create)
	t.Run("of two who create one succeeds", s.createRace)
	t.Run("put overwrites", s.put)
	t.Run("move changes the state", s.move)
	t.Run("delete removes one state", s.delete)
	t.Run("find goes by rejected, accepted, pending", s.find)
	t.Run("list is sorted without regard to case", s.list)
	t.Run("ids that cannot name a key are refused", s.ids)
	t.Run("a missing key is not found", s.missing)
	t.Run("a sign-in sees what the operator did", s.admit)
}

func (s *suite) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *suite) want(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func (s *suite) holds(t *testing.T, st pki.Store, state pki.State, id, want string) {
	t.Helper()
	got, err := st.Get(state, id)
	if err != nil || got != want {
		t.Errorf("Get(%s, %q) = %q, %v, want %q", state, id, got, err, want)
	}
}

func (s *suite) states(t *testing.T) {
	st := s.open(t)
	for _, state := range pki.States() {
		id := "in-" + state.String()
		s.must(t, st.Create(state, id, s.A))
		s.holds(t, st, state, id, s.A)
		ids, err := st.List(state)
		if err != nil || !slices.Equal(ids, []string{id}) {
			t.Errorf("List(%s) = %q, %v, want %q", state, ids, err, id)
		}
	}
}

func (s *suite) canonical(t *testing.T) {
	st := s.open(t)
	odd := "\n" + strings.ReplaceAll(s.A, "\n", "\r\n") + "\r\n\r\n"
	s.must(t, st.Create(pki.Accepted, "a", odd))
	s.holds(t, st, pki.Accepted, "a", s.A)
	s.must(t, st.Put(pki.Denied, "a", odd))
	s.holds(t, st, pki.Denied, "a", s.A)
}

func (s *suite) badKeys(t *testing.T) {
	st := s.open(t)
	for _, text := range []string{"", "not a key", s.A + "\n" + s.B, s.A[:200]} {
		s.want(t, fmt.Sprintf("Create(%.20q)", text), st.Create(pki.Pending, "a", text),
			crypto.ErrBadKey)
		s.want(t, fmt.Sprintf("Put(%.20q)", text), st.Put(pki.Pending, "a", text), crypto.ErrBadKey)
	}
	if ids, err := st.List(pki.Pending); err != nil || len(ids) > 0 {
		t.Errorf("List = %q, %v, want nothing stored", ids, err)
	}
}

func (s *suite) create(t *testing.T) {
	st := s.open(t)
	s.must(t, st.Create(pki.Pending, "a", s.A))
	s.want(t, "second Create", st.Create(pki.Pending, "a", s.B), pki.ErrExists)
	s.holds(t, st, pki.Pending, "a", s.A)
	s.must(t, st.Create(pki.Accepted, "a", s.B))
}

func (s *suite) createRace(t *testing.T) {
	st := s.open(t)
	texts := []string{s.A, s.B}
	results := make([]error, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = st.Create(pki.Pending, "a", texts[i%2]) })
	}
	wg.Wait()
	winner := -1
	for i, err := range results {
		if err == nil && winner >= 0 {
			t.Errorf("calls %d and %d both created the key", winner, i)
		}
		if err == nil {
			winner = i
			continue
		}
		s.want(t, "Create", err, pki.ErrExists)
	}
	if winner < 0 {
		t.Fatal("nobody created the key")
	}
	s.holds(t, st, pki.Pending, "a", texts[winner%2])
}

func (s *suite) put(t *testing.T) {
	st := s.open(t)
	s.must(t, st.Put(pki.Denied, "a", s.A))
	s.must(t, st.Put(pki.Denied, "a", s.B))
	s.holds(t, st, pki.Denied, "a", s.B)
}

func (s *suite) move(t *testing.T) {
	st := s.open(t)
	s.must(t, st.Create(pki.Pending, "a", s.A))
	s.must(t, st.Create(pki.Rejected, "a", s.B))
	s.must(t, st.Move("a", pki.Pending, pki.Accepted))
	s.holds(t, st, pki.Accepted, "a", s.A)
	_, err := st.Get(pki.Pending, "a")
	s.want(t, "Get of the old state", err, pki.ErrNotFound)
	s.want(t, "second Move", st.Move("a", pki.Pending, pki.Accepted), pki.ErrNotFound)
	s.must(t, st.Move("a", pki.Accepted, pki.Rejected))
	s.holds(t, st, pki.Rejected, "a", s.A)
}

func (s *suite) delete(t *testing.T) {
	st := s.open(t)
	s.must(t, st.Create(pki.Accepted, "a", s.A))
	s.must(t, st.Put(pki.Denied, "a", s.B))
	s.must(t, st.Delete(pki.Accepted, "a"))
	s.want(t, "second Delete", st.Delete(pki.Accepted, "a"), pki.ErrNotFound)
	s.holds(t, st, pki.Denied, "a", s.B)
}

func (s *suite) find(t *testing.T) {
	st := s.open(t)
	check := func(want pki.State, text string) {
		t.Helper()
		state, got, err := st.Find("a")
		if state != want || got != text || err != nil {
			t.Errorf("Find = %s, %.40q, %v, want %s", state, got, err, want)
		}
	}
	check(pki.Unknown, "")
	s.must(t, st.Put(pki.Denied, "a", s.B))
	check(pki.Unknown, "")
	s.must(t, st.Create(pki.Pending, "a", s.A))
	check(pki.Pending, s.A)
	s.must(t, st.Create(pki.Accepted, "a", s.B))
	check(pki.Accepted, s.B)
	s.must(t, st.Create(pki.Rejected, "a", s.A))
	check(pki.Rejected, s.A)
}

func (s *suite) list(t *testing.T) {
	st := s.open(t)
	for _, id := range []string{"b", "A", "a10", "a2", "Z", "ünï", "web 1"} {
		s.must(t, st.Create(pki.Accepted, id, s.A))
	}
	got, err := st.List(pki.Accepted)
	want := []string{"A", "a10", "a2", "b", "web 1", "Z", "ünï"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("List = %q, %v, want %q", got, err, want)
	}
}

func (s *suite) ids(t *testing.T) {
	st := s.open(t)
	for _, id := range []string{"", ".", "..", "../a", "a/b", `a\b`, "a\x00b",
		".hidden", strings.Repeat("a", 256)} {
		s.want(t, fmt.Sprintf("Create(%.20q)", id), st.Create(pki.Pending, id, s.A),
			pki.ErrInvalidID)
		s.want(t, fmt.Sprintf("Put(%.20q)", id), st.Put(pki.Pending, id, s.A), pki.ErrInvalidID)
		s.want(t, fmt.Sprintf("Move(%.20q)", id), st.Move(id, pki.Pending, pki.Accepted),
			pki.ErrInvalidID)
		s.want(t, fmt.Sprintf("Delete(%.20q)", id), st.Delete(pki.Pending, id), pki.ErrInvalidID)
		_, err := st.Get(pki.Pending, id)
		s.want(t, fmt.Sprintf("Get(%.20q)", id), err, pki.ErrInvalidID)
		_, _, err = st.Find(id)
		s.want(t, fmt.Sprintf("Find(%.20q)", id), err, pki.ErrInvalidID)
	}
	for _, id := range []string{"a\nb", "a\x1b[0m", "a\u202eb", "\xff"} {
		s.want(t, fmt.Sprintf("Create(%q)", id), st.Create(pki.Pending, id, s.A), pki.ErrInvalidID)
	}
}

func (s *suite) missing(t *testing.T) {
	st := s.open(t)
	for _, state := range pki.States() {
		_, err := st.Get(state, "a")
		s.want(t, "Get", err, pki.ErrNotFound)
		s.want(t, "Delete", st.Delete(state, "a"), pki.ErrNotFound)
		s.want(t, "Move", st.Move("a", state, pki.Accepted), pki.ErrNotFound)
		if ids, err := st.List(state); len(ids) > 0 || err != nil {
			t.Errorf("List(%s) = %q, %v, want none", state, ids, err)
		}
	}
}

func (s *suite) admit(t *testing.T) {
	st := s.open(t)
	signIn := func(text string, want pki.Reply) {
		t.Helper()
		v, err := pki.Admit(st, pki.SignIn{ID: "a", PEM: text})
		if v.Reply != want || err != nil {
			t.Errorf("Admit = %+v, %v, want reply %s", v, err, want)
		}
	}
	signIn(s.A, pki.Wait)
	signIn(s.A, pki.Wait)
	signIn(s.B, pki.Refuse)
	s.must(t, st.Move("a", pki.Pending, pki.Accepted))
	signIn(s.A, pki.Accept)
	signIn(s.B, pki.Refuse)
	s.holds(t, st, pki.Denied, "a", s.B)
	s.must(t, st.Move("a", pki.Accepted, pki.Rejected))
	signIn(s.A, pki.Refuse)
	s.must(t, st.Delete(pki.Rejected, "a"))
	signIn(s.B, pki.Wait)
	s.holds(t, st, pki.Pending, "a", s.B)
}
