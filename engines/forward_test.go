package engines

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/eventbus"
	"github.com/brineproject/brine/internal/test/freeport"
)

// A program that is away is logged once a minute, also while there are no events.
func TestAForwarderLogsOnceThatItWaits(t *testing.T) {
	address := freeport.Address(t)
	synctest.Test(t, func(t *testing.T) {
		log, logged := logtest.NewNullLogger()
		f := NewForwarder(Host{Name: "x", Log: log, Bus: eventbus.New(eventbus.Options{})}, "tcp", address,
			func(*data.Map) ([]byte, error) { return nil, nil })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.Run(ctx) }()
		for minutes := range 3 {
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := len(logged.AllEntries()); n < 1 || n > minutes+2 {
				t.Errorf("after %d minutes there are %d lines", minutes+1, n)
			}
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	})
}
