package zeromq_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/transporttest"
	"github.com/brineproject/brine/transport/zeromq"
)

// TestWatchTellsWhoSubscribed follows two subscribers from their connection to their end.
func TestWatchTellsWhoSubscribed(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p, err := zeromq.ListenPub(ctx, "tcp://127.0.0.1:0", transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	roster := transporttest.NewRoster(t, p)
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx) }()
	leave := map[string]context.CancelFunc{}
	for _, topics := range [][]string{{"one", ""}, {"two"}} {
		own, end := context.WithCancel(ctx)
		leave[topics[0]] = end
		s := zeromq.NewSubscriber(transport.Dialer{Addr: "tcp://" + p.Addr().String()}, topics...)
		go s.Run(own, func([]byte, []byte) {})
	}
	await(t, func() bool { return slices.Equal(topicsOf(roster), []string{"one,", "two"}) })
	leave["one"]()
	await(t, func() bool { return slices.Equal(topicsOf(roster), []string{"two"}) })
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if left := roster.List(); len(left) > 0 {
		t.Errorf("connected to a publisher that has ended: %+v", left)
	}
}

// topicsOf returns what each peer subscribed to, sorted.
func topicsOf(r *transporttest.Roster) []string {
	var list []string
	for _, peer := range r.List() {
		text := ""
		for i, topic := range peer.Topics {
			if i > 0 {
				text += ","
			}
			text += topic
		}
		if peer.Addr == nil || peer.Since.IsZero() {
			text = "?"
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return list
}

func await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come about")
		}
	}
}
