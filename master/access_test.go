package master

import (
	"context"
	"errors"
	"testing"

	"github.com/brineproject/brine/auth"
	"github.com/brineproject/brine/data"
)

// testLogin knows one system, auto, that lets everybody in whose password is not wrong.
func testLogin(name string, _ *data.Map) (auth.System, error) {
	if name != "auto" {
		return nil, errors.New("no such system")
	}
	return autoLogin{}, nil
}

type autoLogin struct{}

func (autoLogin) Login(_ context.Context, l auth.Login) (bool, error) {
	return l.Password != "wrong", nil
}

// ownToken puts the token of this master in the place of a captured one.
func ownToken(m *data.Map, tokens map[string]string) {
	if ours, ok := tokens[m.Text("token")]; ok {
		m.Set("token", ours)
	}
}

// sameToken puts the token that this master gave, and its times, in the place of the captured ones.
func sameToken(t *testing.T, got, want any, tokens map[string]string) {
	t.Helper()
	given, _ := got.(*data.Map)
	captured, _ := want.(*data.Map)
	if !captured.Has("token") {
		return
	}
	start, _ := given.Value("start").(float64)
	expire, _ := given.Value("expire").(float64)
	if life := expire - start; life < 43199.9 || life > 43200.1 {
		t.Errorf("the token holds %v s, want 43200", life)
	}
	if len(given.Text("token")) != len(captured.Text("token")) {
		t.Errorf("token %q, want one as long as %q", given.Text("token"), captured.Text("token"))
	}
	if _, known := tokens[captured.Text("token")]; !known {
		tokens[captured.Text("token")] = given.Text("token")
	}
	captured.Set("token", given.Text("token"))
	captured.Set("start", start)
	captured.Set("expire", expire)
}
