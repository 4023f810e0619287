package testnats

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/brineproject/brine/internal/test/need"
)

// stream makes a stream with a replica on each node.
func stream(t *testing.T, c *Cluster) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(c.Connect(t))
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"},
		Replicas: len(c.Nodes)})
	must(t, err)
	return js
}

// publish publishes a message until it is acknowledged, and returns its sequence.
func publish(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	var sequence uint64
	var last error
	Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ack, err := js.Publish(ctx, "s", []byte("text"))
		if last = err; err == nil {
			sequence = ack.Sequence
		}
		return err == nil
	}, func() string { return "publish: " + last.Error() })
	return sequence
}

func TestPublishingGoesOnWithoutTheLeader(t *testing.T) {
	need.Time(t, "it starts three servers and waits for elections")
	c := Start(t, Options{Nodes: 3, Domain: "test"})
	js := stream(t, c)
	first := publish(t, js)
	leader := c.Leader(t, "S")
	leader.Kill(t)
	second := publish(t, js)
	if second <= first {
		t.Errorf("sequence %d after %d", second, first)
	}
	if next := c.Leader(t, "S"); next == leader {
		t.Errorf("%s was killed and is still the leader", leader.Name)
	}
	leader.Restart(t)
	c.Wait(t)
	c.Leader(t, "S").Stop(t)
	if third := publish(t, js); third <= second {
		t.Errorf("sequence %d after %d", third, second)
	}
}

func TestAStoreOutlivesItsServer(t *testing.T) {
	c := Start(t, Options{})
	js := stream(t, c)
	first := publish(t, js)
	c.Nodes[0].Restart(t)
	c.Wait(t)
	if second := publish(t, js); second != first+1 {
		t.Errorf("sequence %d after a restart, want %d", second, first+1)
	}
}

func TestAStoppedNodeAnswersAgain(t *testing.T) {
	c := Start(t, Options{})
	js := stream(t, c)
	c.Nodes[0].Stop(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := js.Publish(ctx, "s", nil); err == nil {
		t.Error("a stopped server acknowledges")
	}
	c.Nodes[0].Continue(t)
	publish(t, js)
}

func TestServersDemandWhatTheOptionsSay(t *testing.T) {
	for name, o := range map[string]Options{
		"a user":        {User: "u", Password: "p"},
		"an nkey":       {NKey: true},
		"credentials":   {JWT: true},
		"certificates":  {TLS: true, ClientCerts: true},
		"TLS and nkeys": {TLS: true, NKey: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := Start(t, o)
			publish(t, stream(t, c))
			anonymous := *c
			anonymous.o = Options{TLS: o.TLS && !o.ClientCerts}
			nc := anonymous.Connect(t)
			if err := nc.FlushTimeout(time.Second); err == nil {
				t.Error("a client without proof is connected")
			}
		})
	}
}

func TestServersThatStartAnewHaveEmptyStores(t *testing.T) {
	need.Time(t, "it starts three servers twice")
	c := Start(t, Options{Nodes: 3})
	js := stream(t, c)
	c.startAnew(t)
	c.Wait(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := js.Stream(ctx, "S"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the stream after a new start: %v", err)
	}
}
