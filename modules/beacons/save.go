package beacons

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/yaml"
)

// save writes the beacons of the options to the file beacons.conf of the minion's configuration.
//
// CLI Example:
//
//	salt '*' beacons.save
func (m *module) save(ctx context.Context, a keywords) (any, error) {
	file := m.file()
	if isTest(a.Kwargs) {
		return result("Beacons would be saved to "+file+".", true), nil
	}
	beacons := m.configured(ctx, a.Kwargs, false, true)
	if beacons == nil { // an empty file would lose the saved ones
		return result("Event module not available. Beacon list failed.", false), nil
	}
	var content []byte
	if beacons.Len() > 0 {
		var err error
		content, err = yaml.Dump(data.NewMap("beacons", beacons),
			yaml.DumpOptions{Flow: yaml.Block, SortKeys: true, Copies: true})
		if err != nil {
			return nil, err
		}
	}
	if err := write(file, content); err != nil {
		m.env.Log.WithError(err).Error("save the beacons")
		return result("Unable to write to beacons file at "+file+". Check permissions.", false), nil
	}
	return result("Beacons saved to "+file+".", true), nil
}

// file returns the path of the file in which the beacons are saved.
func (m *module) file() string {
	opts := m.env.Opts
	return filepath.Join(filepath.Dir(cmp.Or(opts.Text("conf_file"), "/etc/salt/minion")),
		filepath.Dir(cmp.Or(opts.Text("default_include"), "minion.d/*.conf")), "beacons.conf")
}

// write replaces the file, which may hold secrets of beacons: a new one is its owner's.
func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(file, content, atomicfile.Options{KeepMode: true, Sync: true, Prefix: ".beacons-"})
}
