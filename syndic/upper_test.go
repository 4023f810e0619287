package syndic

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/channel"
	"github.com/brineproject/brine/config"
)

// TestErrorsAboutTheMastersKeyNameItsFile has both kinds of them.
func TestErrorsAboutTheMastersKeyNameItsFile(t *testing.T) {
	for _, signed := range []bool{false, true} {
		cfg := &config.Minion{}
		cfg.PKIDir, cfg.VerifyMasterPubkeySign = "/etc/salt/pki/minion", signed
		u := &upper{s: &Syndic{minion: cfg}}
		for _, err := range []error{channel.ErrMasterKey, channel.ErrOtherMaster} {
			_, text := u.explain(fmt.Errorf("%w: %w", channel.ErrBadReply, err))
			if strings.Contains(text, "syndic_master.pub, in /etc/salt/pki/minion") == signed {
				t.Errorf("with verify_master_pubkey_sign: %t: %s", signed, text)
			}
		}
	}
}

// TestMasterThatComesAndGoes waits for a master whose state changes more often than its patience lasts.
func TestMasterThatComesAndGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &upper{changed: make(chan struct{}), queue: newQueue(1, time.Now)}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var late []time.Duration
		begun := time.Now()
		done := make(chan error)
		go func() {
			done <- u.awaitAnnounced(ctx, 10*time.Second, func() { late = append(late, time.Since(begun)) })
		}()
		for i := range 5 {
			time.Sleep(7 * time.Second)
			u.setConnected(i%2 == 0)
		}
		cancel()
		<-done
		if len(late) != 3 || late[0] != 10*time.Second || late[2] != 30*time.Second {
			t.Errorf("late after %s, want after each 10s", late)
		}
	})
}
