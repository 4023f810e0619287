package minion_test

import (
	"testing"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// TestMinionSignsReturns has a master take signed returns alone, and a minion answer with values of
// all kinds.
func TestMinionSignsReturns(t *testing.T) {
	mcfg := testsalt.MasterConfig(testsalt.Dir(t))
	mcfg.RequireMinionSignMessages, mcfg.DropMessagesSignatureFail = true, true
	f := &fleet{master: testsalt.StartMaster(t, mcfg), dir: testsalt.Dir(t)}
	f.events = f.master.Listen(t)
	cfg := testsalt.MinionConfig(f.dir, "web1", f.master.Address)
	cfg.MinionSignMessages = true
	f.minion = testsalt.StartMinion(t, cfg)
	f.await(t, "salt/minion/web1/start")
	for _, v := range []any{"text", "\u00e4\u00f6", []byte{0xff, 0}, int64(-5), 1.5, nil,
		[]any{int64(1), "a", data.NewMap("k", true)}, make([]any, 70000)} {
		if got := f.give(t, "test.echo", v); !data.Equal(got, v) && data.Repr(got) != data.Repr(v) {
			t.Errorf("test.echo gives %.200s, want %.200s", data.Repr(got), data.Repr(v))
		}
	}
}
