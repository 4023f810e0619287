//go:build unix

package file

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
)

// A backup is a copy of a file that was replaced.
type backup struct {
	at   time.Time
	path string
	size int64
}

// backupFrom returns the backup that an entry of a directory is, by the time in its name; only files are some.
func backupFrom(dir string, e fs.DirEntry, stamp string) (backup, bool) {
	b, ok := timedBackup(dir, e, stamp)
	return b, ok && e.Type().IsRegular()
}

// timedBackup reads the time in the name of an entry of a directory: Fri_Jul_29_17:01:26_123456_2016.
func timedBackup(dir string, e fs.DirEntry, stamp string) (backup, bool) {
	info, err := e.Info()
	parts := strings.Split(stamp, "_")
	if err != nil || len(parts) != 6 {
		return backup{}, false
	}
	at, err := time.ParseInLocation("Mon_Jan_02_15:04:05.000000_2006", strings.Join(parts[:4], "_")+"."+parts[4]+"_"+parts[5], time.Local)
	return backup{at, filepath.Join(dir, e.Name()), info.Size()}, err == nil
}

// numberedBackups returns up to limit backups, all where it is below 0, the newest first, by numbers from 0.
func numberedBackups(found []backup, limit int) *data.Map {
	slices.SortFunc(found, func(a, b backup) int { return b.at.Compare(a.at) })
	if limit >= 0 && limit < len(found) {
		found = found[:limit]
	}
	list := data.NewMap()
	for i, b := range found {
		list.Set(int64(i), data.NewMap("Backup Time", b.at.Format("Mon Jan 02 2006 15:04:05.000000"), "Size", b.size, "Location", b.path))
	}
	return list
}
