package grains

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brineproject/brine/data"
)

const hanging = time.Hour // how long hanging programs and files hang

// hangingHost has programs that do not end within an hour, even if they are killed.
func hangingHost(t *testing.T, programs ...string) *Collector {
	t.Helper()
	files := data.NewMap("etc/os-release", "ID=debian\nNAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n")
	for _, p := range programs {
		files.Set("usr/bin/"+p, "")
	}
	o := fixture(t, data.NewMap("files", files, "programs", data.NewMap()))
	o.Opts = data.NewMap("id", "x")
	o.Run = func(context.Context, string, ...string) ([]byte, error) {
		time.Sleep(hanging)
		return []byte("too late"), nil
	}
	c := New(o)
	c.dns = noDNS{}
	c.links = func() ([]link, error) { return nil, nil }
	return c
}

// TestHangingPrograms checks that hanging programs only lose their own grains, and that the
// collection ends.
func TestHangingPrograms(t *testing.T) {
	for _, tt := range []struct {
		programs []string
		want     time.Duration
	}{
		{[]string{"dpkg"}, programTime + killTime},
		{[]string{"dpkg", "lvm", "zpool", "systemctl", "localectl", "lspci"}, programTime + killTime},
		{[]string{"dmidecode"}, sourceTime + killTime}, // it is asked for one string after the other
	} {
		synctest.Test(t, func(t *testing.T) {
			c, begin := hangingHost(t, tt.programs...), time.Now()
			g, err := c.Collect(t.Context())
			if took := time.Since(begin); err != nil || took != tt.want {
				t.Errorf("with %v hanging Collect took %v, %v, want %v", tt.programs, took, err, tt.want)
			}
			for name, want := range map[string]any{"os": "Debian", "osarch": "",
				"virtual": "physical", "id": "x"} {
				if got := g.Value(name); got != want {
					t.Errorf("with %v hanging grain %s = %v, want %v", tt.programs, name, got, want)
				}
			}
			time.Sleep(hanging)
		})
	}
}

// TestHangingFile checks that a file that cannot be read to its end loses the grains of its source.
func TestHangingFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, begin := hangingHost(t), time.Now()
		c.uname = func() *data.Map { // stands for a file of the source osData
			time.Sleep(hanging)
			return data.NewMap()
		}
		g, err := c.Collect(t.Context())
		if took := time.Since(begin); err != nil || took != sourceTime+lateTime {
			t.Errorf("Collect took %v, %v, want %v", took, err, sourceTime+lateTime)
		}
		if g.Has("os") || g.Text("id") != "x" {
			t.Errorf("grains os = %v, id = %v", g.Value("os"), g.Value("id"))
		}
		time.Sleep(10 * hanging)
	})
}
