package standard

import (
	"errors"
	"strings"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/engines"
)

// Each engine names an unknown option, and none of a master only is silent on a minion.
func TestEngines(t *testing.T) {
	for name, maker := range Engines() {
		if _, err := maker(engines.Host{}, data.NewMap("nonsense", true)); err == nil ||
			!strings.Contains(err.Error(), "nonsense") {
			t.Errorf("%s with an unknown option: %v", name, err)
		}
	}
	for _, name := range []string{"kafka", "mqtt", "nats", "reactor", "redis_sentinel", "stalekey", "thorium"} {
		err := engines.Check([]any{name}, ForMinions())
		if err == nil || !strings.Contains(err.Error(), "masters only") {
			t.Errorf("%s on a minion: %v", name, err)
		}
		if _, err := engines.Parts([]any{name}, ForMinions(), engines.Host{}); err == nil {
			t.Errorf("%s starts on a minion", name)
		}
	}
	if err := engines.Check([]any{"reactor"}, Engines()); err != nil {
		t.Errorf("the reactor on a master: %v", err)
	}
	err := engines.Check([]any{data.NewMap("logstash", data.NewMap("hots", "x"))}, ForMinions())
	if err == nil || !strings.Contains(err.Error(), "hots is unknown") {
		t.Errorf("a wrong option: %v", err)
	}
	var f *config.Finding
	if err := engines.Check([]any{"webhok"}, Engines()); !errors.As(err, &f) || !strings.Contains(err.Error(),
		"webhook") {
		t.Errorf("an unknown engine: %v", err)
	}
}
