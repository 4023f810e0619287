package eventbus

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

// TestSecretsDoNotReachSockets fires private events from inside and through the pull socket: a
// listener on the pub socket and a subscription that does not ask for them get only what is fired
// after them.
func TestSecretsDoNotReachSockets(t *testing.T) {
	b := New(Options{Private: func(tag string) bool { return strings.Contains(tag, "secret") }})
	s, _ := serve(t, b, ServeOptions{})
	outside := connect(t, s, ClientOptions{})
	inside, private := b.Subscribe(SubscribeOptions{}), b.Subscribe(SubscribeOptions{Private: true})
	if err := b.Fire("a/secret", data.NewMap("key", "x")); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"secret/b", "end"} {
		if err := outside.Fire(t.Context(), tag, data.NewMap("key", "x")); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"a/secret", "secret/b", "end"} {
		if e := next(t, private); e.Tag != want {
			t.Errorf("the subscription that asks got %q, want %q", e.Tag, want)
		}
	}
	if e := next(t, inside); e.Tag != "end" {
		t.Errorf("a subscription got %q", e.Tag)
	}
	if e := next(t, outside); e.Tag != "end" {
		t.Errorf("the socket got %q", e.Tag)
	}
}
