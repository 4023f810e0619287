//go:build unix

package file

import "github.com/brineproject/brine/loader"

type (
	attributes struct{ env *loader.Env } // reads and sets the attributes of chattr(1)
	contexts   struct{ env *loader.Env } // reads and sets SELinux contexts
)

// ofSystem returns the functions that exist only on systems like Unix.
func ofSystem(env *loader.Env, p perms, dirs directories) []loader.Func {
	n := nodes{env, p, dirs}
	return []loader.Func{
		loader.F("chattr", p.attributes.chattr),
		loader.F("check_perms", p.checkPerms),
		loader.F("chgrp", chgrp),
		loader.F("chown", chown),
		loader.F("get_devmm", getDevmm),
		loader.F("get_mode", getMode),
		loader.F("get_selinux_context", p.contexts.getSelinuxContext),
		loader.F("gid_to_group", gidToGroup),
		loader.F("grep", programs{env}.grep),
		loader.F("group_to_gid", groupToGid),
		loader.F("is_blkdev", isBlkdev),
		loader.F("is_chrdev", isChrdev),
		loader.F("is_fifo", isFifo),
		loader.F("lchown", lchown),
		loader.F("lsattr", p.attributes.lsattr),
		loader.F("mknod", n.mknod),
		loader.F("mknod_blkdev", n.mknodBlkdev),
		loader.F("mknod_chrdev", n.mknodChrdev),
		loader.F("mknod_fifo", n.mknodFifo),
		loader.F("open_files", searches{env}.openFiles),
		loader.F("restorecon", p.contexts.restorecon),
		loader.F("sed", programs{env}.sed),
		loader.F("sed_contains", programs{env}.sedContains),
		loader.F("set_mode", setMode),
		loader.F("set_selinux_context", p.contexts.setSelinuxContext),
		loader.F("statvfs", statvfs),
		loader.F("uid_to_user", uidToUser),
		loader.F("user_to_uid", userToUid),
	}
}
