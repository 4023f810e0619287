package console_test

import (
	"net/netip"
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/netapi"
)

// order carries out an order of the user saltdev beside the console, and returns its first item.
func (b *browser) order(t *testing.T, client, minion, fun string, args ...any) any {
	t.Helper()
	low := data.NewMap("client", client, "fun", fun, "username", "saltdev", "password", "saltdev", "eauth", "file")
	if minion != "" {
		low.Set("tgt", []any{minion})
		low.Set("tgt_type", "list")
	}
	if len(args) > 0 {
		low.Set("arg", args)
	}
	answer, err := b.Gate.Order(t.Context(), netapi.Caller{From: netip.MustParseAddr("127.0.0.1")}, low)
	if err != nil {
		t.Fatalf("order %s: %v", fun, err)
	}
	if len(answer.Items) == 0 {
		return nil
	}
	return answer.Items[0]
}

// fire fires an event on the master's bus.
func (b *browser) fire(t *testing.T, tag string) {
	t.Helper()
	b.fireWord(t, tag, tag)
}

// fireWord is fire with a word as the data.
func (b *browser) fireWord(t *testing.T, tag, word string) {
	t.Helper()
	if b.bus == nil {
		b.bus = netapi.NewBus(eventbus.MasterSockets(b.Master.Config.SockDir), eventbus.ClientOptions{})
		t.Cleanup(func() { b.bus.Close() })
	}
	if err := b.bus.Fire(t.Context(), tag, data.NewMap("word", word)); err != nil {
		t.Fatal(err)
	}
}
