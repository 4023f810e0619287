package sharedsecret

import (
	"testing"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

func TestSecret(t *testing.T) {
	s, err := Open(data.NewMap("sharedsecret", "word"))
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{"word": true, "wor": false, "words": false, "": false} {
		if ok, err := s.Login(t.Context(),
			auth.Login{Name: "anybody", Password: password}); ok != want || err != nil {
			t.Errorf("%q: %v, %v", password, ok, err)
		}
	}
	for _, v := range []any{nil, "", int64(5)} {
		if _, err := Open(data.NewMap("sharedsecret", v)); err == nil {
			t.Errorf("%v is a secret", v)
		}
	}
}
