package zeromq_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/brineproject/brine/transport"
	"github.com/brineproject/brine/transport/zeromq"
)

// TestPeerListTellsWhoSubscribed follows two subscribers from their connection to their end.
func TestPeerListTellsWhoSubscribed(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p, err := zeromq.ListenPub(ctx, "tcp://127.0.0.1:0", transport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx) }()
	before := p.PeerChanges()
	leave := map[string]context.CancelFunc{}
	for _, topics := range [][]string{{"one", ""}, {"two"}} {
		own, end := context.WithCancel(ctx)
		leave[topics[0]] = end
		s := zeromq.NewSubscriber(transport.Dialer{Addr: "tcp://" + p.Addr().String()}, topics...)
		go s.Run(own, func([]byte, []byte) {})
	}
	await(t, func() bool { return slices.Equal(topicsOf(p), []string{"one,", "two"}) })
	if p.PeerChanges() == before {
		t.Error("nothing is said to have changed")
	}
	leave["one"]()
	await(t, func() bool { return slices.Equal(topicsOf(p), []string{"two"}) })
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// topicsOf returns what each peer subscribed to, sorted.
func topicsOf(p *zeromq.Publisher) []string {
	var list []string
	for _, peer := range p.PeerList() {
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
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come about")
		}
	}
}
