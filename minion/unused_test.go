package minion

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/brineproject/brine/config"
)

// TestUnusedNamesWhatIsNotCarriedOut sets options of Salt's that choose masters and pace requests.
func TestUnusedNamesWhatIsNotCarriedOut(t *testing.T) {
	dir := t.TempDir()
	text := "id: m\nrandom_master: true\nmaster_shuffle: true\nretry_dns: 7\nretry_dns_count: 3\nreturn_retry_timer: 6\nreturn_retry_timer_max: 9\nreturn_retry_tries: 8\n" +
		"startup_states: highstate\nid_function: test.version\n"
	if err := os.WriteFile(filepath.Join(dir, "minion"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.LoadMinion(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"random_master", "master_shuffle", "retry_dns", "retry_dns_count", "return_retry_timer", "return_retry_timer_max", "return_retry_tries"}
	if got := Unused(cfg); !slices.Equal(got, want) {
		t.Errorf("Unused = %q, want %q", got, want)
	}
	if got := Unused(config.DefaultMinion()); got != nil {
		t.Errorf("Unused of the defaults = %q", got)
	}
}
