//go:build unix

// Package file is Salt's module file (salt/modules/file.py).
//
// names.go takes names apart, look.go says what is there, stat.go what the system knows of it, and read.go reads. place.go writes, for
// all others: source.go and hash.go get what the state file.managed wants, managed.go compares, manage.go makes it so; owner.go,
// perms.go and xattrs.go are about owners, modes and attributes, dirs.go about directories, alter.go about whole files, replace.go, line.go
// and regex.go about text in them. find.go and criteria.go look for files, contents.go into them, nodes.go makes devices, and programs.go
// asks other programs. A path may begin with ~ or ~USER.
//
// What differs: a file comes to its place as a whole and keeps its owners, mode and extended attributes, where Salt writes into it; only
// one with several names is written as it stands, by file.replace. jinja is the only template engine. Of a list of sources those of web
// servers are fetched to see whether they are there. Nothing that reads takes pipes and devices without end: file.read, contains,
// get_hash and their like say so, searches of directories skip them.
//
// On Windows there is no such module.
package file

import (
	"slices"
	"sync"

	"github.com/brineproject/brine/internal/accounts"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

type module struct {
	env    *loader.Env
	engine func() (*render.Engine, error)
}

func newModule(env *loader.Env, b render.Brought) (*loader.Module, error) {
	m := &module{env: env, engine: sync.OnceValues(func() (*render.Engine, error) {
		e, _, err := render.ForEnv(env, b)
		return e, err
	})}
	return &loader.Module{Funcs: slices.Concat(m.looking(), m.writing(), m.managing(), m.searching(), m.nodes(), []loader.Func{
		loader.F("basename", m.basename),
		loader.F("dirname", m.dirname),
		loader.F("get_hash", m.getHash),
		loader.F("get_sum", m.getSum),
		loader.F("join", m.join),
		loader.F("normpath", m.normpath),
		loader.F("pardir", m.pardir),
		loader.F("contains", m.contains),
		loader.F("read", m.read),
		loader.F("readdir", m.readdir),
		loader.F("readlink", m.readlink),
		loader.F("seek_read", m.seekRead),
	})}, nil
}

// managing are the functions for states that manage files.
func (m *module) managing() []loader.Func {
	return []loader.Func{
		loader.F("apply_template_on_contents", m.applyTemplateOnContents),
		loader.F("check_file_meta", m.checkFileMeta),
		loader.F("check_hash", m.checkHash),
		loader.F("check_managed", m.checkManaged),
		loader.F("check_managed_changes", m.checkManagedChanges),
		loader.F("check_perms", m.checkPerms),
		loader.F("extract_hash", m.extractHash),
		loader.F("get_diff", m.getDiff),
		loader.F("get_managed", m.getManaged),
		loader.F("get_source_sum", m.getSourceSum),
		loader.F("manage_file", m.manageFile),
		loader.F("source_list", m.sourceList),
		loader.F("delete_backup", m.deleteBackup),
		loader.F("delete_backup", m.deleteBackup).Alias("remove_backup"),
		loader.F("list_backups", m.listBackups),
		loader.F("list_backups", m.listBackups).Alias("list_backup"),
		loader.F("restore_backup", m.restoreBackup),
	}
}

// writing are the functions that change files.
func (m *module) writing() []loader.Func {
	return []loader.Func{
		loader.F("append", m.append),
		loader.F("blockreplace", m.blockreplace),
		loader.F("chattr", m.chattr),
		loader.F("chgrp", m.chgrp),
		loader.F("chown", m.chown),
		loader.F("comment", m.comment),
		loader.F("comment_line", m.commentLine),
		loader.F("copy", m.copy),
		loader.F("get_selinux_context", m.getSelinuxContext),
		loader.F("lchown", m.lchown),
		loader.F("line", m.line),
		loader.F("link", m.link),
		loader.F("lsattr", m.lsattr),
		loader.F("makedirs", m.makedirs).Def("makedirs_"),
		loader.F("makedirs_perms", m.makedirsPerms),
		loader.F("mkdir", m.mkdir),
		loader.F("move", m.move),
		loader.F("prepend", m.prepend),
		loader.F("remove", m.remove),
		loader.F("rename", m.rename),
		loader.F("replace", m.replace),
		loader.F("search", m.search),
		loader.F("seek_write", m.seekWrite),
		loader.F("set_mode", m.setMode),
		loader.F("set_selinux_context", m.setSelinuxContext),
		loader.F("symlink", m.symlink),
		loader.F("touch", m.touch),
		loader.F("truncate", m.truncate),
		loader.F("uncomment", m.uncomment),
		loader.F("write", m.write),
	}
}

// searching are the functions that look into files, or for them.
func (m *module) searching() []loader.Func {
	return []loader.Func{
		loader.F("contains_glob", m.containsGlob),
		loader.F("contains_regex", m.containsRegex),
		loader.F("diskusage", m.diskusage),
		loader.F("find", m.find),
		loader.F("grep", m.grep),
		loader.F("list_backups_dir", m.listBackupsDir),
		loader.F("open_files", m.openFiles),
		loader.F("sed_contains", m.sedContains),
		loader.F("statvfs", m.statvfs),
	}
}

// nodes are the functions for devices and pipes, and those that change files by programs.
func (m *module) nodes() []loader.Func {
	return []loader.Func{
		loader.F("get_devmm", m.getDevmm),
		loader.F("mknod", m.mknod),
		loader.F("mknod_blkdev", m.mknodBlkdev),
		loader.F("mknod_chrdev", m.mknodChrdev),
		loader.F("mknod_fifo", m.mknodFifo),
		loader.F("patch", m.patch),
		loader.F("psed", m.psed),
		loader.F("restorecon", m.restorecon),
		loader.F("rmdir", m.rmdir),
		loader.F("sed", m.sed),
	}
}

func (m *module) looking() []loader.Func {
	return []loader.Func{
		loader.F("access", m.access),
		loader.F("directory_exists", m.directoryExists),
		loader.F("file_exists", m.fileExists),
		loader.F("get_gid", m.getGid),
		loader.F("get_group", m.getGroup),
		loader.F("get_mode", m.getMode),
		loader.F("get_uid", m.getUid),
		loader.F("get_user", m.getUser),
		loader.F("gid_to_group", m.gidToGroup),
		loader.F("group_to_gid", m.groupToGid),
		loader.F("is_blkdev", m.isBlkdev),
		loader.F("is_chrdev", m.isChrdev),
		loader.F("is_fifo", m.isFifo),
		loader.F("is_hardlink", m.isHardlink),
		loader.F("is_link", m.isLink),
		loader.F("lstat", m.lstat),
		loader.F("path_exists_glob", m.pathExistsGlob),
		loader.F("stats", m.stats),
		loader.F("uid_to_user", m.uidToUser),
		loader.F("user_to_uid", m.userToUid),
	}
}

// home returns a path with the home directory that ~ or ~USER at its beginning stands for.
func home(path string) string { return accounts.Expand(path) }

// osError returns an error of a file as Python's exception of it.
func osError(err error) error { return loader.OSError(err) }
