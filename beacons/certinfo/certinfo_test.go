package certinfo

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/x509"
	"github.com/brineproject/brine/yaml"
)

// TestEvents compares the events for certificates with those of Salt, at the time when they were
// recorded.
func TestEvents(t *testing.T) {
	src, err := os.ReadFile("testdata/salt.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := yaml.Load(src, yaml.Options{})
	if err != nil {
		t.Fatal(err)
	}
	salt, _ := v.(*data.Map)
	root := t.TempDir()
	for _, name := range []string{"rsa", "ec"} {
		if err := os.WriteFile(filepath.Join(root, name+".pem"), []byte(salt.Text(name)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	functions, err := loader.NewRegistry(&loader.Env{}, []loader.Plugin{x509.Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	env := *functions.Env()
	env.Root = root
	r, err := loader.NewRegistry(&env, []loader.Plugin{Plugin()})
	if err != nil {
		t.Fatal(err)
	}
	now, err := time.ParseInLocation(time.DateTime, salt.Text("now"), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now))
		for _, c := range data.ListOf(salt.Value("cases")) {
			c, _ := c.(*data.Map)
			got, err := r.Invoke(t.Context(), "cert_info.beacon", []any{c.Value("config")}, nil)
			if err != nil || !data.Equal(got, c.Value("events")) {
				t.Errorf("%s:\n      %s %v\nSalt: %s", c.Text("name"), data.Repr(got), err,
					data.Repr(c.Value("events")))
			}
		}
	})
}

// TestDaysLeft has values of Python's timedelta.days.
func TestDaysLeft(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for hours, want := range map[int]int{0: 0, 1: 0, 24: 1, 47: 1, -1: -1, -24: -1, -25: -2} {
		if got := daysLeft(now.Add(time.Duration(hours)*time.Hour), now); got != want {
			t.Errorf("%d hours: %d days, want %d", hours, got, want)
		}
	}
}
