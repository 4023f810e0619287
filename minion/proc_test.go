package minion

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/job"
)

// TestInterruptedJobsAreReported reports jobs of an earlier run, whoever chose their ids.
func TestInterruptedJobsAreReported(t *testing.T) {
	w := newWorkshop(t, &config.Minion{MinionPaths: config.MinionPaths{CacheDir: t.TempDir()}})
	for _, id := range []job.ID{"20260101000000000001", "20260101000000000002_17", "deploy-web_7"} {
		pub := &job.Publication{JID: id, Fun: []string{"test.count"}, Target: "*"}
		if err := w.jobs.proc.add(pub, "salt"); err != nil {
			t.Fatal(err)
		}
		w.jobs.report()
		if !w.link.courier.spool.has(string(id)) {
			t.Errorf("job %s: no return", id)
		}
		if !w.jobs.seen.has(string(id)) {
			t.Errorf("job %s would run again", id)
		}
		if _, err := os.Stat(w.jobs.proc.file(string(id))); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("job %s: its file is still there: %v", id, err)
		}
	}
}
