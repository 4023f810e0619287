//go:build unix

package file

import (
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// A backup is a copy of a file that was replaced.
type backup struct {
	at   time.Time
	path string
	size int64
}

// backupFrom returns the backup that an entry of a folder is, by the time in its name: Fri_Jul_29_17:01:26_123456_2016.
func backupFrom(dir string, e fs.DirEntry, stamp string) (backup, bool) {
	info, err := e.Info()
	parts := strings.Split(stamp, "_")
	if err != nil || !info.Mode().IsRegular() || len(parts) != 6 {
		return backup{}, false
	}
	at, err := time.ParseInLocation("Mon_Jan_02_15:04:05.000000_2006", strings.Join(parts[:4], "_")+"."+parts[4]+"_"+parts[5], time.Local)
	return backup{at, filepath.Join(dir, e.Name()), info.Size()}, err == nil
}
