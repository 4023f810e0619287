// Package testsink runs an engine that sends events to a message broker.
package testsink

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/engines/sink"
	"github.com/brineproject/brine/eventbus"
)

// patience is how long Eventually waits.
const patience = time.Minute

// A Master is the master of an engine: its bus and its log.
type Master struct {
	*sink.Sink
	Bus    *eventbus.Bus
	logged *logtest.Hook
}

// Run runs the engine out that newSink makes of options, until the test ends. The master has the id m.
func Run(
	t *testing.T, newSink func(engines.Host, *data.Map) (*sink.Sink, error), options *data.Map,
) *Master {
	t.Helper()
	log, logged := logtest.NewNullLogger()
	log.SetLevel(logrus.DebugLevel)
	m := &Master{Bus: eventbus.New(eventbus.Options{}), logged: logged}
	var err error
	if m.Sink, err = newSink(engines.Host{Name: "out", ID: "m", Bus: m.Bus, Log: log}, options); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Sink.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the engine ends with %v", err)
			}
		case <-time.After(patience):
			t.Error("the engine does not end")
		}
		if t.Failed() {
			t.Logf("log:\n%s", m.Log())
		}
	})
	return m
}

// Fire fires events with the data n, one after the other.
func (m *Master) Fire(t *testing.T, n int64, tags ...string) {
	t.Helper()
	for _, tag := range tags {
		if err := m.Bus.Fire(tag, data.NewMap("id", "web1.example.com", "n", n)); err != nil {
			t.Fatal(err)
		}
	}
}

// Log returns the lines of the log, each with its error.
func (m *Master) Log() string {
	var b strings.Builder
	for _, e := range m.logged.AllEntries() {
		b.WriteString(e.Message)
		if err := e.Data[logrus.ErrorKey]; err != nil {
			b.WriteString(": " + data.Str(err.(error).Error()))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Eventually waits until done reports true.
func Eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !done(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
