package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/netapi"
	"github.com/brineproject/brine/netapi/stream"
)

// A tokenStore counts the questions about its one token.
type tokenStore struct{ asked int }

func (s *tokenStore) Get(token string) (*data.Map, error) {
	s.asked++
	return data.NewMap("token", token, "name", "ann", "eauth", "file", "expire", float64(time.Now().Unix()+60)), nil
}

func (s *tokenStore) Add(*data.Map) error { return nil }

func (s *tokenStore) Delete(string) error { return nil }

// TestEventsDoNotAskForTheTokenEachTime checks what a stream asks before each event.
func TestEventsDoNotAskForTheTokenEachTime(t *testing.T) {
	store := &tokenStore{}
	now := time.Now()
	gate := netapi.NewGate(netapi.Options{Settings: &netapi.Settings{}, Door: &netapi.Door{}, Tokens: store,
		Now: func() time.Time { return now }, Log: logrus.New()})
	s := &Streams{Gate: gate, Hub: stream.New(stream.Options{})}
	life := s.life(netapi.Caller{Token: "cafe", User: "ann"})
	store.asked = 0
	for range 100 {
		if !life.Valid() {
			t.Fatal("the token is not valid")
		}
	}
	if now = now.Add(time.Second); !life.Valid() || store.asked != 2 {
		t.Errorf("the token is asked for %d times in a second", store.asked)
	}
}

// TestOwnEventsNeedAnOwner checks that the setting reaches the listeners.
func TestOwnEventsNeedAnOwner(t *testing.T) {
	gate := netapi.NewGate(netapi.Options{Settings: &netapi.Settings{}, Door: &netapi.Door{OwnEvents: true}, Tokens: &tokenStore{},
		External: data.NewMap(), Log: logrus.New()})
	s := &Streams{Gate: gate, Hub: stream.New(stream.Options{})}
	f := s.filter(httptest.NewRequest(http.MethodGet, "/events", nil), netapi.Caller{Token: "cafe", User: "ann"})
	if f.May == nil || f.May("salt/auth") {
		t.Error("a user without rights reads all events")
	}
	gate.Door.OwnEvents = false
	if f := s.filter(httptest.NewRequest(http.MethodGet, "/events", nil), netapi.Caller{Token: "cafe", User: "ann"}); f.May != nil {
		t.Error("events are limited without the setting")
	}
}
