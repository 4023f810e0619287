package master

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/logging"
	runnercluster "github.com/brineproject/brine/runners/cluster"
)

// TestDataOfAnotherCluster opens the data of a member under the name that it was written with, and another.
func TestDataOfAnotherCluster(t *testing.T) {
	dir := t.TempDir()
	if err := sameCluster(dir, "salt"); err != nil {
		t.Errorf("a new member: %v", err)
	}
	must(t, noteCluster(dir, "salt"))
	if err := sameCluster(dir, "salt"); err != nil {
		t.Errorf("the same name: %v", err)
	}
	err := sameCluster(dir, "slat")
	var about *config.About
	if !errors.As(err, &about) || about.Option != "cluster" {
		t.Fatalf("another name: %v, want an error of the option cluster", err)
	}
	for _, part := range []string{"name", "member of cluster salt, not of slat", "write name: salt", dir} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
}

// TestDataOfAMemberWithoutTheOption has a master without the option cluster, with the data of a member.
func TestDataOfAMemberWithoutTheOption(t *testing.T) {
	cfg := &config.Master{}
	cfg.CacheDir = t.TempDir()
	check := func(when string, want bool) {
		t.Helper()
		clustered, err := inCluster(cfg, logging.Discard())
		if clustered || (err != nil) != want {
			t.Errorf("%s: in a cluster %v, %v", when, clustered, err)
		}
	}
	check("without data", false)
	dir := filepath.Join(cfg.CacheDir, memberDir)
	must(t, os.Mkdir(dir, 0o700))
	must(t, noteCluster(dir, "salt"))
	check("with data", true)
	must(t, runnercluster.MarkIn(cfg.CacheDir).Set(time.Now()))
	check("after cluster.leave", false)
	file := filepath.Join(cfg.CacheDir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	cfg.CacheDir = file
	check("with a file in the place of the cachedir", false)
}
