package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/internal/clock"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := clock.Sleep(t.Context(), time.Hour); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("Sleep = %v after %v", err, time.Since(begun))
		}
		stopped := errors.New("the job was ended")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { stop(stopped) })
		begun = time.Now()
		if err := clock.Sleep(ctx, time.Hour); err != stopped || time.Since(begun) != time.Minute {
			t.Errorf("Sleep = %v after %v; want the cause of the end", err, time.Since(begun))
		}
	})
}
