package syndic

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
)

// configure returns configurations with the options in two texts of YAML.
func configure(t *testing.T, master, minion string) (*config.Master, *config.Minion) {
	t.Helper()
	dir := t.TempDir()
	none := func(string) string { return "" }
	for name, text := range map[string]string{"master": master, "minion": minion + "\nid: lower\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := config.LoadMaster(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	n, _, err := config.LoadMinion(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	return m, n
}

func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		name, master, minion string
		want                 settings
	}{
		{"defaults", "", "", settings{masters: []address{{"masterofmasters", "masterofmasters", 4506}},
			gather: time.Second / 2, loads: 100, retries: 3, timeout: 5 * time.Second}},
		{"everything", strings.Join([]string{"syndic_master: [a, 'b:4600', '[::1]:1', 'a:5506']", "syndic_master_port: 5506",
			"master_id: low", "syndic_mode: cluster", "syndic_failover: ordered", "syndic_event_forward_timeout: 2",
			"syndic_jid_forward_cache_hwm: 7", "timeout: 9"}, "\n"), "syndic_retries: 5\nsyndic_finger: 'aa:bb'",
			settings{masters: []address{{"a", "a", 5506}, {"b:4600", "b", 4600}, {"[::1]:1", "::1", 1}}, masterID: "low",
				cluster: true, ordered: true, gather: 2 * time.Second, loads: 7, retries: 5, finger: "aa:bb",
				timeout: 9 * time.Second}},
		{"of the minion", "syndic_master: a", "master_port: 4999\nmaster_finger: 'cc:dd'", settings{
			masters: []address{{"a", "a", 4999}}, gather: time.Second / 2, loads: 100, retries: 3, finger: "cc:dd",
			timeout: 5 * time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			master, minion := configure(t, tt.master, tt.minion)
			got, err := readSettings(master, minion)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestSettingsThatAreWrong(t *testing.T) {
	for option, text := range map[string]string{"syndic_master": "syndic_master: 'a:b:c:1/'"} {
		master, minion := configure(t, text, "")
		_, err := readSettings(master, minion)
		var about *config.About
		if !errors.As(err, &about) || about.Option != option {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

func TestFolderIsOneName(t *testing.T) {
	a := address{host: "fe80::1%eth0/..", port: 4506}
	if got := a.dir(); got != "fe80__1_eth0_.._4506" {
		t.Errorf("directory %q", got)
	}
}
