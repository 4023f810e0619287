package testengine

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
	"github.com/brineproject/brine/eventbus"
)

type lines chan string

func (lines) Levels() []logrus.Level { return []logrus.Level{logrus.DebugLevel} }

func (l lines) Fire(e *logrus.Entry) error {
	l <- e.Message
	return nil
}

func TestLog(t *testing.T) {
	log, logged := logrus.New(), make(lines, 1)
	log.SetOutput(io.Discard)
	log.SetLevel(logrus.DebugLevel)
	log.AddHook(logged)
	h := engines.Host{Name: "test", Bus: eventbus.New(eventbus.Options{}), Log: log}
	run, err := New(h, data.NewMap())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	if err := h.Bus.Fire("a/b", data.NewMap("x", int64(1))); err != nil {
		t.Fatal(err)
	}
	if text := <-logged; !strings.Contains(text, `"x": 1`) {
		t.Errorf("logged %s", text)
	}
	stop()
	if err := <-ended; err != context.Canceled {
		t.Errorf("the engine ends with %v", err)
	}
}
