//go:build unix

package master

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus/hooks/test"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/pki"
)

func TestAnOpenKeyIsClosedWithAWarning(t *testing.T) {
	dir := t.TempDir()
	keys, err := pki.Open(dir, pki.Options{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "master.pem")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	log, hook := test.NewNullLogger()
	cfg := &config.Master{MasterPaths: config.MasterPaths{PKIDir: dir},
		MasterKeys: config.MasterKeys{MasterSignKeyName: "master_sign"}}
	for range 2 { // the second time there is nothing to do
		protectKeys(keys, cfg, log)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("master.pem: %v, %v", info.Mode(), err)
	}
	if got := hook.AllEntries(); len(got) != 1 ||
		!strings.Contains(got[0].Message, "was readable by other users") || got[0].Data["file"] != file {
		t.Errorf("the log has %v", got)
	}
}
