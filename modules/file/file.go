// Package file is Salt's module file (salt/modules/file.py).
//
// names.go splits and joins paths, look.go tests what exists, stat.go reads metadata, and read.go
// reads contents. place.go writes files for all other parts. source.go and hash.go fetch the
// sources of file.managed, managed.go compares them with the file, and manage.go writes it.
// owner.go, perms.go and xattrs.go handle owners, modes and attributes, and backup.go handles
// backups. dirs.go makes directories, prune.go removes empty ones, and alter.go changes whole
// files. replace.go, line.go and regex.go edit text. find.go and criteria.go search for files,
// contents.go searches in them. nodes.go makes devices, and programs.go calls other programs. A
// path may begin with ~ or ~USER.
//
// Differences from Salt: a file is replaced as a whole and keeps its owners, mode and extended
// attributes; Salt writes into the old file. Only file.replace writes in place, and only to a file
// with several names. jinja is the only template engine. To find out which sources of a list exist,
// those on web servers are fetched. Functions that read files reject pipes and endless devices:
// file.read, contains, get_hash and others return an error, and directory searches skip them.
//
// On Windows the module is that of salt/modules/win_file.py: an owner and access control lists take
// the place of user, group and mode. Files whose name ends in _windows.go are that part.
package file

import (
	"sync"

	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

func newModule(env *loader.Env, brought render.Brought) (*loader.Module, error) {
	engine := sync.OnceValues(func() (*render.Engine, error) {
		e, _, err := render.ForEnv(env, brought)
		return e, err
	})
	p := newPerms(env)
	dirs := directories{env, p}
	b, d, s := backups{env}, diffs{env}, sources{env, hashes{env}, templates{engine}}
	c, m := checks{env, d, p, s}, managed{env, b, d, dirs, p}
	return &loader.Module{Funcs: append(ofSystem(env, p, dirs), []loader.Func{
		loader.F("access", access),
		loader.F("append", edits{env}.append),
		loader.F("apply_template_on_contents", s.templates.applyTemplateOnContents),
		loader.F("basename", basename),
		loader.F("blockreplace", blockreplace),
		loader.F("check_file_meta", c.checkFileMeta),
		loader.F("check_hash", checkHash),
		loader.F("check_managed", c.checkManaged),
		loader.F("check_managed_changes", c.checkManagedChanges),
		loader.F("comment", comment),
		loader.F("comment_line", commentLine),
		loader.F("contains", contains),
		loader.F("contains_glob", containsGlob),
		loader.F("contains_regex", containsRegex),
		loader.F("copy", copies{p}.copy),
		loader.F("delete_backup", b.deleteBackup),
		loader.F("delete_backup", b.deleteBackup).Alias("remove_backup"),
		loader.F("directory_exists", directoryExists),
		loader.F("dirname", dirname),
		loader.F("diskusage", diskusage),
		loader.F("extract_hash", extractHash),
		loader.F("file_exists", fileExists),
		loader.F("find", searches{env}.find),
		loader.F("get_diff", d.getDiff),
		loader.F("get_gid", getGid),
		loader.F("get_group", getGroup),
		loader.F("get_hash", getHash),
		loader.F("get_managed", s.getManaged),
		loader.F("get_source_sum", s.hashes.getSourceSum),
		loader.F("get_sum", getSum),
		loader.F("get_uid", getUid),
		loader.F("get_user", getUser),
		loader.F("is_hardlink", isHardlink),
		loader.F("is_link", isLink),
		loader.F("join", join),
		loader.F("line", edits{env}.line),
		loader.F("link", link),
		loader.F("list_backups", b.listBackups),
		loader.F("list_backups", b.listBackups).Alias("list_backup"),
		loader.F("list_backups_dir", b.listBackupsDir),
		loader.F("lstat", lstat),
		loader.F("makedirs", dirs.makedirs).Def("makedirs_"),
		loader.F("makedirs_perms", dirs.makedirsPerms),
		loader.F("manage_file", m.manageFile),
		loader.F("mkdir", dirs.mkdir),
		loader.F("move", move),
		loader.F("normpath", normpath),
		loader.F("pardir", pardir),
		loader.F("patch", programs{env}.patch),
		loader.F("path_exists_glob", pathExistsGlob),
		loader.F("prepend", edits{env}.prepend),
		loader.F("psed", psed),
		loader.F("read", read),
		loader.F("readdir", readdir),
		loader.F("readlink", readlink),
		loader.F("remove", remove),
		loader.F("rename", rename),
		loader.F("replace", replace),
		loader.F("restore_backup", b.restoreBackup),
		loader.F("rmdir", dirs.rmdir),
		loader.F("search", search),
		loader.F("seek_read", seekRead),
		loader.F("seek_write", seekWrite),
		loader.F("source_list", s.sourceList),
		loader.F("stats", stats),
		loader.F("symlink", symlink),
		loader.F("touch", touch),
		loader.F("truncate", truncate),
		loader.F("uncomment", uncomment),
		loader.F("write", edits{env}.write),
	}...)}, nil
}

// The parts of the module that need little.
type (
	backups  struct{ env *loader.Env } // keeps copies of replaced files in the cache directory
	copies   struct{ perms perms }     // copies files and directories
	diffs    struct{ env *loader.Env } // compares the contents of files
	edits    struct{ env *loader.Env } // changes lines of files
	hashes   struct{ env *loader.Env } // resolves source_hash
	programs struct{ env *loader.Env } // runs programs that edit and search files
	// finds files by criteria, and files that processes have open
	searches struct{ env *loader.Env }

	templates struct {
		engine func() (*render.Engine, error)
	} // renders texts
)

// home expands ~ or ~USER at the beginning of a path to a home directory.
func home(path string) string { return accounts.Expand(path) }

// osError converts a file error to the Python exception for it.
func osError(err error) error { return loader.OSError(err) }
