package auth

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
)

// tree is a system with targets of its own.
type tree struct {
	*people
	asked atomic.Int64
}

func (s *tree) Expand(_ context.Context, list []any) ([]any, error) {
	s.asked.Add(1)
	time.Sleep(time.Second)
	return list, nil
}

// TestFloodOfTokensAsksOnce sends many requests with a token whose rules stand for a part of a
// directory: it is asked once, and again after a minute.
func TestFloodOfTokensAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tree{people: somebody()}
		o := options(t, s.people)
		o.System = func(string) (System, error) { return s, nil }
		o.ExternalAuth = data.NewMap("people", data.NewMap("fred", []any{"test.*"}))
		g := newGate(t, o)
		m, err := g.NewToken(t.Context(), login("fred", "secret"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []int64{1, 1, 2} {
			var all sync.WaitGroup
			for range 500 {
				all.Go(func() {
					if _, err := g.Identify(t.Context(),
						Credentials{Kind: ByToken, Token: m.Text("token")}); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			if n := s.asked.Load(); n != want {
				t.Errorf("the directory is asked %d times, want %d", n, want)
			}
			time.Sleep(31 * time.Second)
		}
	})
}
