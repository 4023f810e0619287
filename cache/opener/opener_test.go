package opener

import (
	"strings"
	"testing"

	"github.com/brineproject/brine/data"
)

func TestEachNameOpens(t *testing.T) {
	for _, name := range append(Names(), "localfs_key") {
		c, err := Open(data.NewMap("cache", name, "cachedir", t.TempDir()))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := c.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
	}
	for want, opts := range map[string]*data.Map{
		`cache: there is no cache "etcd"; use one of`: data.NewMap("cache", "etcd"),
		"cache: mysql.port: expected":                 data.NewMap("cache", "mysql", "mysql.port", "x"),
	} {
		if _, err := Open(opts); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
