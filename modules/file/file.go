//go:build unix

// Package file is Salt's module file (salt/modules/file.py).
//
// names.go takes names apart, look.go says what is there, stat.go what the system knows of it, and read.go reads. place.go writes, for
// all others: source.go and hash.go get what the state file.managed wants, managed.go compares, manage.go makes it so; owner.go,
// perms.go and xattrs.go are about owners, modes and attributes, dirs.go about folders, alter.go about whole files, replace.go, line.go
// and regex.go about text in them. find.go and criteria.go look for files, contents.go into them, nodes.go makes devices, and programs.go
// asks other programs. A path may begin with ~ or ~USER.
//
// What differs: a file comes to its place as a whole and keeps its owners, mode and extended attributes, where Salt writes into it; only
// one with several names is written as it stands, by file.replace. jinja is the only template engine. Of a list of sources those of web
// servers are fetched to see whether they are there. Nothing that reads takes pipes and devices without end: file.read, contains,
// get_hash and their like say so, searches of folders skip them.
//
// On Windows there is no such module.
package file

import (
	"slices"
	"sync"

	"github.com/brineproject/brine/accounts"
	"github.com/brineproject/brine/loader"
	"github.com/brineproject/brine/render"
)

//go:generate go run github.com/brineproject/brine/internal/docgen

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
		loader.F("basename", docBasename, m.basename),
		loader.F("dirname", docDirname, m.dirname),
		loader.F("get_hash", docGetHash, m.getHash),
		loader.F("get_sum", docGetSum, m.getSum),
		loader.F("join", docJoin, m.join),
		loader.F("normpath", docNormpath, m.normpath),
		loader.F("pardir", docPardir, m.pardir),
		loader.F("contains", docContains, m.contains),
		loader.F("read", docRead, m.read),
		loader.F("readdir", docReaddir, m.readdir),
		loader.F("readlink", docReadlink, m.readlink),
		loader.F("seek_read", docSeekRead, m.seekRead),
	})}, nil
}

// managing are the functions for states that manage files.
func (m *module) managing() []loader.Func {
	return []loader.Func{
		loader.F("apply_template_on_contents", docApplyTemplateOnContents, m.applyTemplateOnContents),
		loader.F("check_file_meta", docCheckFileMeta, m.checkFileMeta),
		loader.F("check_hash", docCheckHash, m.checkHash),
		loader.F("check_managed", docCheckManaged, m.checkManaged),
		loader.F("check_managed_changes", docCheckManagedChanges, m.checkManagedChanges),
		loader.F("check_perms", docCheckPerms, m.checkPerms),
		loader.F("extract_hash", docExtractHash, m.extractHash),
		loader.F("get_diff", docGetDiff, m.getDiff),
		loader.F("get_managed", docGetManaged, m.getManaged),
		loader.F("get_source_sum", docGetSourceSum, m.getSourceSum),
		loader.F("manage_file", docManageFile, m.manageFile),
		loader.F("source_list", docSourceList, m.sourceList),
		loader.F("delete_backup", docDeleteBackup, m.deleteBackup),
		loader.F("delete_backup", docDeleteBackup, m.deleteBackup).Alias("remove_backup"),
		loader.F("list_backups", docListBackups, m.listBackups),
		loader.F("list_backups", docListBackups, m.listBackups).Alias("list_backup"),
		loader.F("restore_backup", docRestoreBackup, m.restoreBackup),
	}
}

// writing are the functions that change files.
func (m *module) writing() []loader.Func {
	return []loader.Func{
		loader.F("append", docAppend, m.append),
		loader.F("blockreplace", docBlockreplace, m.blockreplace),
		loader.F("chattr", docChattr, m.chattr),
		loader.F("chgrp", docChgrp, m.chgrp),
		loader.F("chown", docChown, m.chown),
		loader.F("comment", docComment, m.comment),
		loader.F("comment_line", docCommentLine, m.commentLine),
		loader.F("copy", docCopy, m.copy),
		loader.F("get_selinux_context", docGetSelinuxContext, m.getSelinuxContext),
		loader.F("lchown", docLchown, m.lchown),
		loader.F("line", docLine, m.line),
		loader.F("link", docLink, m.link),
		loader.F("lsattr", docLsattr, m.lsattr),
		loader.F("makedirs", docMakedirs, m.makedirs).Def("makedirs_"),
		loader.F("makedirs_perms", docMakedirsPerms, m.makedirsPerms),
		loader.F("mkdir", docMkdir, m.mkdir),
		loader.F("move", docMove, m.move),
		loader.F("prepend", docPrepend, m.prepend),
		loader.F("remove", docRemove, m.remove),
		loader.F("rename", docRename, m.rename),
		loader.F("replace", docReplace, m.replace),
		loader.F("search", docSearch, m.search),
		loader.F("seek_write", docSeekWrite, m.seekWrite),
		loader.F("set_mode", docSetMode, m.setMode),
		loader.F("set_selinux_context", docSetSelinuxContext, m.setSelinuxContext),
		loader.F("symlink", docSymlink, m.symlink),
		loader.F("touch", docTouch, m.touch),
		loader.F("truncate", docTruncate, m.truncate),
		loader.F("uncomment", docUncomment, m.uncomment),
		loader.F("write", docWrite, m.write),
	}
}

// searching are the functions that look into files, or for them.
func (m *module) searching() []loader.Func {
	return []loader.Func{
		loader.F("contains_glob", docContainsGlob, m.containsGlob),
		loader.F("contains_regex", docContainsRegex, m.containsRegex),
		loader.F("diskusage", docDiskusage, m.diskusage),
		loader.F("find", docFind, m.find),
		loader.F("grep", docGrep, m.grep),
		loader.F("list_backups_dir", docListBackupsDir, m.listBackupsDir),
		loader.F("open_files", docOpenFiles, m.openFiles),
		loader.F("sed_contains", docSedContains, m.sedContains),
		loader.F("statvfs", docStatvfs, m.statvfs),
	}
}

// nodes are the functions for devices and pipes, and those that change files by programs.
func (m *module) nodes() []loader.Func {
	return []loader.Func{
		loader.F("get_devmm", docGetDevmm, m.getDevmm),
		loader.F("mknod", docMknod, m.mknod),
		loader.F("mknod_blkdev", docMknodBlkdev, m.mknodBlkdev),
		loader.F("mknod_chrdev", docMknodChrdev, m.mknodChrdev),
		loader.F("mknod_fifo", docMknodFifo, m.mknodFifo),
		loader.F("patch", docPatch, m.patch),
		loader.F("psed", docPsed, m.psed),
		loader.F("restorecon", docRestorecon, m.restorecon),
		loader.F("rmdir", docRmdir, m.rmdir),
		loader.F("sed", docSed, m.sed),
	}
}

func (m *module) looking() []loader.Func {
	return []loader.Func{
		loader.F("access", docAccess, m.access),
		loader.F("directory_exists", docDirectoryExists, m.directoryExists),
		loader.F("file_exists", docFileExists, m.fileExists),
		loader.F("get_gid", docGetGid, m.getGid),
		loader.F("get_group", docGetGroup, m.getGroup),
		loader.F("get_mode", docGetMode, m.getMode),
		loader.F("get_uid", docGetUid, m.getUid),
		loader.F("get_user", docGetUser, m.getUser),
		loader.F("gid_to_group", docGidToGroup, m.gidToGroup),
		loader.F("group_to_gid", docGroupToGid, m.groupToGid),
		loader.F("is_blkdev", docIsBlkdev, m.isBlkdev),
		loader.F("is_chrdev", docIsChrdev, m.isChrdev),
		loader.F("is_fifo", docIsFifo, m.isFifo),
		loader.F("is_hardlink", docIsHardlink, m.isHardlink),
		loader.F("is_link", docIsLink, m.isLink),
		loader.F("lstat", docLstat, m.lstat),
		loader.F("path_exists_glob", docPathExistsGlob, m.pathExistsGlob),
		loader.F("stats", docStats, m.stats),
		loader.F("uid_to_user", docUidToUser, m.uidToUser),
		loader.F("user_to_uid", docUserToUid, m.userToUid),
	}
}

// home returns a path with the home directory that ~ or ~USER at its beginning stands for.
func home(path string) string { return accounts.Expand(path) }

// osError returns an error of a file as Python's exception of it.
func osError(err error) error { return loader.OSError(err) }
