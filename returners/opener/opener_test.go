package opener

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/logging"
	"github.com/brineproject/brine/returners/returnertest"
)

func quiet() logrus.FieldLogger {
	log := logging.Discard()
	return log
}

// load reads a configuration of a master.
func load(t *testing.T, lines ...string) *config.Master {
	t.Helper()
	dir := t.TempDir()
	lines = append(lines, "cachedir: "+filepath.Join(dir, "cache"))
	if err := os.WriteFile(filepath.Join(dir, "master"), []byte(strings.Join(lines, "\n")+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.LoadMaster(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cfg.CacheDir, 0o700); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestJobCacheIsWhatTheOptionSays(t *testing.T) {
	db := filepath.Join(t.TempDir(), "salt.db")
	for name, c := range map[string]struct {
		lines []string
		file  string // that holds jobs then
	}{
		"the default":          {nil, "jobs.db"},
		"jobstore":             {[]string{"master_job_cache: jobstore"}, "jobs.db"},
		"local_cache, written": {[]string{"master_job_cache: local_cache"}, "jobs/??/*/.load.p"},
		"sqlite3":              {[]string{"master_job_cache: sqlite3", "sqlite3.database: " + db}, db},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := load(t, c.lines...)
			cache, err := JobCache(cfg, quiet())(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer cache.Close()
			if err := cache.SaveJob(t.Context(), returnertest.Job(t, 1, "test.ping", "web1")); err != nil {
				t.Fatal(err)
			}
			if !filepath.IsAbs(c.file) {
				c.file = filepath.Join(cfg.CacheDir, c.file)
			}
			if found, _ := filepath.Glob(c.file); len(found) != 1 {
				t.Errorf("there is no file %s", c.file)
			}
		})
	}
}

func TestMissingServerIsNamed(t *testing.T) {
	for name, lines := range map[string][]string{
		"mysql": {"master_job_cache: mysql", "mysql.host: 127.0.0.1", "mysql.port: 1"},
		"postgres": {"master_job_cache: postgres", "returner.postgres.host: 127.0.0.1",
			"returner.postgres.port: 1"},
		"redis": {"master_job_cache: redis", "redis.host: 127.0.0.1", "redis.port: 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := JobCache(load(t, lines...), quiet())(t.Context())
			if err == nil || !strings.Contains(err.Error(), "master_job_cache: "+name+" on 127.0.0.1:1: ") {
				t.Errorf("open = %v", err)
			}
		})
	}
}
