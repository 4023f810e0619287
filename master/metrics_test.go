package master_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/brineproject/brine/internal/test/freeport"
	"github.com/brineproject/brine/internal/test/testsalt"
)

// TestMetricsOfAMaster asks a master and its minion's job for numbers.
func TestMetricsOfAMaster(t *testing.T) {
	cfg := testsalt.MasterConfig(testsalt.Dir(t))
	cfg.MetricsAddress = freeport.Address(t)
	cfg.AutoAccept = true
	m := testsalt.StartMaster(t, cfg)
	for path, want := range map[string]string{"/livez": "ok\n", "/readyz": "ok\n"} {
		if got := page(t, cfg.MetricsAddress, path); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	got := page(t, cfg.MetricsAddress, "/metrics")
	for _, want := range []string{"\nsalt_health_minions_total 0\n",
		"\nbrine_minions_connected 0\n", "\nbrine_part_running{part=\"replier\"} 1\n",
		"\nbrine_port_connections{port=\"publish\"} 0\n", "\nbrine_batches 0\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	m.Stop(t)
	if c, err := net.Dial("tcp", cfg.MetricsAddress); err == nil {
		c.Close()
		t.Error("the address is open after the end of the master")
	}
}

func page(t *testing.T, address, path string) string {
	t.Helper()
	r, err := http.Get("http://" + address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
