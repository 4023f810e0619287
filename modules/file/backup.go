//go:build unix

package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/brineproject/brine/data"
	"github.com/brineproject/brine/internal/atomicfile"
	"github.com/brineproject/brine/loader"
)

// A backup is a copy of a file that was replaced.
type backup struct {
	at   time.Time
	path string
	size int64
}

// backupFrom returns the backup for a directory entry, and whether it is one: a regular file with a
// time in its name.
func backupFrom(dir string, e fs.DirEntry, stamp string) (backup, bool) {
	b, ok := timedBackup(dir, e, stamp)
	return b, ok && e.Type().IsRegular()
}

// timedBackup parses the time in the name of a directory entry: Fri_Jul_29_17:01:26_123456_2016.
func timedBackup(dir string, e fs.DirEntry, stamp string) (backup, bool) {
	info, err := e.Info()
	parts := strings.Split(stamp, "_")
	if err != nil || len(parts) != 6 {
		return backup{}, false
	}
	at, err := time.ParseInLocation("Mon_Jan_02_15:04:05.000000_2006",
		strings.Join(parts[:4], "_")+"."+parts[4]+"_"+parts[5], time.Local)
	return backup{at, filepath.Join(dir, e.Name()), info.Size()}, err == nil
}

// numberedBackups returns up to limit backups by number from 0, newest first. A negative limit
// returns all.
func numberedBackups(found []backup, limit int) *data.Map {
	sort.Slice(found, func(i, j int) bool { return found[i].at.After(found[j].at) })
	if limit >= 0 && limit < len(found) {
		found = found[:limit]
	}
	list := data.NewMap()
	for i, b := range found {
		list.Set(int64(i), data.NewMap("Backup Time",
			b.at.Format("Mon Jan 02 2006 15:04:05.000000"), "Size", b.size, "Location", b.path))
	}
	return list
}

type backupsArgs struct {
	Path  string
	Limit any `default:"None"`
}

// listBackups returns the backups of a file by number from 0, newest first: the location, size and
// time of each.
//
// limit : None
//
//	The maximum number to return.
//
// CLI Example:
//
//	salt '*' file.list_backups /foo/bar/baz.txt
func (m backups) listBackups(_ context.Context, a backupsArgs) (any, error) {
	return m.list(home(a.Path), a.Limit)
}

type backupArgs struct {
	Path     string
	BackupID any `name:"backup_id"`
}

// restoreBackup restores a backup, by its number in file.list_backups. The current file becomes a
// backup first.
//
// CLI Example:
//
//	salt '*' file.restore_backup /foo/bar/baz.txt 0
func (m backups) restoreBackup(_ context.Context, a backupArgs) (any, error) {
	path := home(a.Path)
	from, ret, err := m.lookup(path, a.BackupID)
	if err != nil || from == "" {
		return ret, err
	}
	if info, err := os.Stat(path); err == nil {
		if err := m.save(path, info); err != nil {
			return nil, osError(err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, osError(err)
	}
	if err := place(realPath(path, 0), placing{}, copyOf(from)); err != nil {
		ret.Set("comment", "Unable to restore "+from+" to "+path+": "+osError(err).Error())
		return ret, nil
	}
	ret.Set("result", true)
	ret.Set("comment", "Successfully restored "+from+" to "+path)
	return ret, nil
}

// deleteBackup removes a backup, by its number in file.list_backups.
//
// CLI Example:
//
//	salt '*' file.delete_backup /var/cache/salt/minion/file_backup/home/foo/bar/baz.txt 0
func (m backups) deleteBackup(_ context.Context, a backupArgs) (any, error) {
	from, ret, err := m.lookup(home(a.Path), a.BackupID)
	if err != nil || from == "" {
		return ret, err
	}
	if err := os.Remove(from); err != nil {
		ret.Set("comment", "Unable to remove "+from+": "+osError(err).Error())
		return ret, nil
	}
	ret.Set("result", true)
	ret.Set("comment", "Successfully removed "+from)
	return ret, nil
}

// lookup returns the path of a backup and a result to complete. If there is no such backup, the
// path is empty and the result says so.
func (m backups) lookup(path string, id any) (string, *data.Map, error) {
	ret := data.NewMap("result", false, "comment", "Invalid backup_id '"+data.Str(id)+"'")
	n, err := loader.Int(id)
	if err != nil || data.Str(n) != data.Str(id) {
		return "", ret, nil //nolint:nilerr // the result says so
	}
	list, err := m.list(path, nil)
	if err != nil {
		return "", nil, err
	}
	one, ok := list.Value(n).(*data.Map)
	if !ok {
		ret.Set("comment", "backup_id '"+data.Str(id)+"' does not exist for "+path)
		return "", ret, nil
	}
	return one.Text("Location"), ret, nil
}

func (m backups) list(path string, limit any) (*data.Map, error) {
	dir := filepath.Join(m.root(), filepath.Dir(path))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return data.NewMap(), nil
	}
	if err != nil {
		return nil, osError(err)
	}
	var found []backup
	for _, e := range entries {
		stamp, ok := strings.CutPrefix(e.Name(), filepath.Base(path)+"_")
		if b, good := backupFrom(dir, e, stamp); ok && good {
			found = append(found, b)
		}
	}
	most := -1
	if n, err := loader.Int(limit); err == nil && limit != nil {
		most = int(n)
	}
	return numberedBackups(found, most), nil
}

// listBackupsDir returns the backups of the files of a directory. The keys are the file names up to
// their first underscore, the values are those of file.list_backups.
//
// limit : None
//
//	The maximum number to return for each file.
//
// CLI Example:
//
//	salt '*' file.list_backups_dir /foo/bar/baz/
func (m backups) listBackupsDir(_ context.Context, a backupsArgs) (any, error) {
	dir := filepath.Join(m.root(), filepath.Dir(home(a.Path)+"x"))
	limit := -1
	if a.Limit != nil {
		if n, err := loader.Int(a.Limit); err == nil {
			limit = int(n)
		} else {
			m.env.Log.Error("file.list_backups_dir: 'limit' value must be numeric")
		}
	}
	all := data.NewMap()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return all, nil //nolint:nilerr // like Salt
	}
	groups := map[string][]backup{}
	for _, e := range entries {
		name, stamp, _ := strings.Cut(e.Name(), "_")
		if !all.Has(name) {
			all.Set(name, data.NewMap())
		}
		if b, ok := timedBackup(dir, e, stamp); ok {
			groups[name] = append(groups[name], b)
		}
	}
	for name, list := range groups {
		all.Set(name, numberedBackups(list, limit))
	}
	return all, nil
}

// save copies a file to the directory of backups (salt/utils/files.py, backup_minion).
func (m backups) save(path string, info fs.FileInfo) error {
	now := time.Now()
	name := fmt.Sprintf("%s_%s%06d_%d", filepath.Base(path), now.Format("Mon_Jan_02_15:04:05_"),
		now.Nanosecond()/1000, now.Year())
	dest := filepath.Join(m.root(), filepath.Dir(path), name)
	if err := os.MkdirAll(filepath.Dir(dest), 0o755); err != nil {
		return err
	}
	keep := func(f *os.File) error { return keepAs(f, path, info) }
	return atomicfile.Fill(dest, atomicfile.Options{Own: keep}, copyOf(path))
}

func (m backups) root() string {
	return filepath.Join(data.Str(m.env.Option("cachedir")), "file_backup")
}

// saver returns save if mode, or else the option backup_mode, is minion or both; otherwise nil.
func (m backups) saver(mode any) func(path string, info fs.FileInfo) error {
	if !data.Truth(mode) {
		mode = m.env.Option("backup_mode")
	}
	switch data.Str(mode) {
	case "minion", "both":
		return m.save
	}
	return nil
}
