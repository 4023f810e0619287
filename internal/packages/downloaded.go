package packages

import (
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/modules/calls"
)

// AddDownloaded adds a package file, with its size in bytes and its time, to the result of
// pkg.list_downloaded, by name and version. The time is in the zone of at.
func AddDownloaded(all *data.Map, p calls.BinPkg, path string, size int64, at time.Time) {
	versions, ok := all.Value(p.Name).(*data.Map)
	if !ok {
		versions = &data.Map{}
		all.Set(p.Name, versions)
	}
	versions.Set(p.Version, data.NewMap(
		"path", path, "size", size, "creation_date_time_t", at.Unix(),
		"creation_date_time", at.Format(time.DateOnly+"T"+time.TimeOnly)))
}
