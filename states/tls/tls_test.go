package tls_test

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/test/runs"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/modules/cmd"
	"github.com/brineproject/brine/modules/config"
	module "github.com/brineproject/brine/modules/tls"
	"github.com/brineproject/brine/render"
	state "github.com/brineproject/brine/states/tls"
)

// TestValid looks at a certificate before, in and after its period, in test mode too.
func TestValid(t *testing.T) {
	dir := t.TempDir()
	env := &loader.Env{Opts: data.NewMap("id", "web1", "ca.cert_base_path", dir)}
	modules := []loader.Plugin{cmd.Plugin(render.Brought{}), config.Plugin(), module.Plugin()}
	functions, err := loader.NewRegistry(env, modules)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(48 * time.Hour)
		if _, err := functions.Invoke(t.Context(), "tls.create_self_signed_cert", nil,
			data.NewMap("bits", int64(1024), "days", int64(10))); err != nil {
			t.Fatal(err)
		}
	})
	path := filepath.Join(dir, "tls/certs/localhost.crt")
	states := runs.New(t, env, modules, state.Plugin())
	for _, c := range []struct {
		after  time.Duration
		kwargs *data.Map
		result bool
		want   string
	}{
		{0, nil, false, "Certificate is not yet valid"},
		{49 * time.Hour, nil, true, "Certificate is valid for 9 days, 23:00:00"},
		{49 * time.Hour, data.NewMap("weeks", int64(1), "days", int64(2)), true, "Certificate is valid for 9 days, 23:00:00"},
		{49 * time.Hour, data.NewMap("days", int64(9), "hours", 23.5), false,
			"Certificate will expire in 9 days, 23:00:00, which is less than 9 days, 23:30:00"},
		{49*time.Hour + 1500*time.Millisecond, data.NewMap("minutes", int64(20000), "seconds", int64(1)), false,
			"Certificate will expire in 9 days, 22:59:58.500000, which is less than 13 days, 21:20:01"},
		{11*24*time.Hour + 90*time.Minute, nil, true, "Certificate is valid for 22:30:00"},
		{13 * 24 * time.Hour, nil, false, "Certificate is expired"},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(c.after)
			for _, test := range []bool{true, false, false} {
				got := states.Run(t, test, "tls.valid_certificate", path, c.kwargs)
				if !data.Equal(got, data.NewMap("name", path, "result", c.result, "changes", &data.Map{}, "comment", c.want)) {
					t.Errorf("after %v: %s, want %s", c.after, data.Repr(got), c.want)
				}
			}
		})
	}
	t.Run("far", func(t *testing.T) { far(t, functions, states, dir) })
	got := states.Run(t, false, "tls.valid_certificate", path+".none", nil)
	if want := regexp.MustCompile(`No such file or directory`); got.Value("result") != false ||
		!want.MatchString(got.Text("comment")) {
		t.Errorf("no file: %s", data.Repr(got))
	}
	if _, err := os.Stat(path + ".none"); err == nil {
		t.Error("the file was written")
	}
}

// far looks at a certificate that is valid for more than 292 years, where Go's durations end.
func far(t *testing.T, functions *loader.Registry, states *runs.Shelf, dir string) {
	synctest.Test(t, func(t *testing.T) {
		if _, err := functions.Invoke(t.Context(), "tls.create_self_signed_cert", nil,
			data.NewMap("CN", "far", "bits", int64(1024), "days", int64(2_900_000))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "tls/certs/far.crt")
		for _, c := range []struct {
			kwargs *data.Map
			result bool
			want   string
		}{
			{data.NewMap("days", int64(2_900_000)), true, "Certificate is valid for 2900000 days, 0:00:00"},
			{data.NewMap("weeks", int64(400_000), "days", int64(100_000), "seconds", 1.5), false,
				"Certificate will expire in 2900000 days, 0:00:00, which is less than 2900000 days, 0:00:01.500000"},
			{data.NewMap("days", 2_900_000.25, "hours", int64(-7)), true, "Certificate is valid for 2900000 days, 0:00:00"},
		} {
			for _, test := range []bool{true, false, false} {
				got := states.Run(t, test, "tls.valid_certificate", path, c.kwargs)
				if got.Value("result") != c.result || got.Text("comment") != c.want {
					t.Errorf("%s: %s, want %s", data.Repr(c.kwargs), data.Repr(got), c.want)
				}
			}
		}
		for _, days := range []float64{1e9, -1e300, math.NaN()} {
			if got := states.Run(t, false, "tls.valid_certificate", path, data.NewMap("days", days)); got.Value("result") != false {
				t.Errorf("%v days: %s", days, data.Repr(got))
			}
		}
	})
}
