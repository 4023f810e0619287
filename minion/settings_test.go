package minion

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/config"
)

func TestSettingsPauseEndsWithTheOptionsThatItBeganWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &settings{}
		s.set(&config.Minion{}, nil)
		begun := time.Now()
		ended := make(chan time.Duration, 1)
		wait := func(want bool, wantErr error) {
			whole, err := s.pause(ctx, pingInterval)
			if whole != want || err != wantErr {
				t.Errorf("pause = %t, %v, want %t, %v", whole, err, want, wantErr)
			}
			ended <- time.Since(begun)
		}
		go wait(false, nil) // ping_interval 0 is for ever
		time.Sleep(time.Hour)
		s.set(&config.Minion{MinionJobs: config.MinionJobs{PingInterval: time.Minute}}, nil)
		if at := <-ended; at != time.Hour {
			t.Errorf("the wait ended after %s", at)
		}
		go wait(true, nil)
		if at := <-ended; at != time.Hour+time.Minute {
			t.Errorf("the wait ended after %s", at)
		}
		go wait(false, context.Canceled)
		synctest.Wait()
		cancel()
		<-ended
	})
}
