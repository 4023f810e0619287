package master

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/brineproject/brine/config"
	"github.com/brineproject/brine/internal/atomicfile"
	runnercluster "github.com/brineproject/brine/runners/cluster"
)

// nameFile is the file in memberDir with the name of the cluster that its data is of.
const nameFile = "name"

// sameCluster returns an error if the data in memberDir is of a cluster with another name. A master with a
// misspelt name would make a cluster of its own, with the keys and the minions of the former one.
func sameCluster(dir, name string) error {
	text, err := os.ReadFile(filepath.Join(dir, nameFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the name of the cluster that this master was a member of: %w", err)
	}
	former := strings.TrimSpace(string(text))
	if former == name {
		return nil
	}
	return &config.About{Option: "cluster", Err: &config.Finding{Path: []any{"name"},
		Text: fmt.Sprintf("this master is a member of cluster %s, not of %s", former, name),
		Suggestion: fmt.Sprintf("write name: %s; for a move to another cluster, move the directory %s away", former,
			dir)}}
}

// noteCluster notes the name of the cluster that the data in memberDir is of.
func noteCluster(dir, name string) error {
	if err := atomicfile.Write(filepath.Join(dir, nameFile), []byte(name+"\n"),
		atomicfile.Options{Mode: 0o600, Sync: true, SyncDir: true}); err != nil {
		return fmt.Errorf("note the name of the cluster that this master is a member of: %w", err)
	}
	return nil
}

// noCluster returns an error if the cachedir of a master without the option cluster has the data of a member. The
// option may be misspelt. The master would then work alone, with the keys and the minions of the cluster. One that
// left with salt-run cluster.leave may do so.
func noCluster(cachedir string) error {
	dir := filepath.Join(cachedir, memberDir)
	if _, err := os.Stat(dir); err != nil { // what is wrong with the cachedir itself is told by those who use it
		return nil //nolint:nilerr // see above
	}
	if _, left, err := runnercluster.MarkIn(cachedir).Since(); err != nil || left {
		return err
	}
	return fmt.Errorf("%s has the data of a member of a cluster, but the option cluster is not set; set it again, or "+
		"move the directory away if this master is to work alone from now on", dir)
}
