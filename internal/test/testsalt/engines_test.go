package testsalt_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// TestStaleKey deletes the key of a minion that is gone, but not that of one that is connected.
func TestStaleKey(t *testing.T) {
	dir := testsalt.Dir(t)
	cfg := masterWith(t, filepath.Join(dir, "m"), "engines: [{stalekey: {interval: 0.05, expire: 0.5}}]")
	m := testsalt.StartMaster(t, cfg)
	starts, keys := m.Listen(t, "salt/minion/web1/start"), m.Listen(t, "salt/key")
	minionWith(t, filepath.Join(dir, "n"), m.Address)
	testsalt.AwaitEvent(t, starts, "salt/minion/web1/start")
	accepted := filepath.Join(cfg.PKIDir, "minions")
	key, err := os.ReadFile(filepath.Join(accepted, "web1"))
	if err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(accepted, "gone[1]") // no pattern
	if err := os.WriteFile(gone, key, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		body, err := testsalt.AwaitEvent(t, keys, "salt/key").Map()
		if err != nil {
			t.Fatal(err)
		}
		if body.Text("act") != "delete" {
			continue
		}
		if body.Text("id") != "gone[1]" {
			t.Errorf("deleted %s", data.Repr(body))
		}
		break
	}
	if _, err := os.Stat(gone); !os.IsNotExist(err) {
		t.Errorf("the key is there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(accepted, "web1")); err != nil {
		t.Errorf("the key of a connected minion: %v", err)
	}
}

// TestWebhookOfAMinion posts to a minion, whose master gets the event.
func TestWebhookOfAMinion(t *testing.T) {
	dir := testsalt.Dir(t)
	m := testsalt.StartMaster(t, masterWith(t, filepath.Join(dir, "m")))
	events, starts := m.Listen(t, "salt/minion/web1/hook/"), m.Listen(t, "salt/minion/web1/start")
	port := freeport.One(t)
	minionWith(t, filepath.Join(dir, "n"), m.Address, fmt.Sprintf("engines: [{webhook: {address: 127.0.0.1, port: %d}}]", port))
	testsalt.AwaitEvent(t, starts, "salt/minion/web1/start")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for ctx.Err() == nil { // until the engine listens
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/deploy",
			port), strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			continue
		}
		if reply.Body.Close(); reply.StatusCode != http.StatusOK {
			t.Errorf("the answer is %s", reply.Status)
		}
		break
	}
	http.DefaultClient.CloseIdleConnections()
	body, err := testsalt.AwaitEvent(t, events, "salt/minion/web1/hook/deploy").Map()
	if sent, _ := body.Value("data").(*data.Map); err != nil || sent.Text("body") != "x" {
		t.Errorf("the event is %s, %v", data.Repr(body), err)
	}
}
