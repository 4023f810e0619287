package file

import "github.com/brineproject/brine/loader"

// ofSystem returns the functions that exist only on Windows, or are others there.
func ofSystem(_ *loader.Env, p perms, _ directories) []loader.Func {
	return []loader.Func{
		loader.F("check_perms", p.checkAccess),
		loader.F("chgrp", ignoreGroup),
		loader.F("chown", changeOwner),
		loader.F("chpgrp", chpgrp),
		loader.F("get_attributes", getAttributes),
		loader.F("get_mode", getNoMode),
		loader.F("get_pgid", getPgid),
		loader.F("get_pgroup", getPgroup),
		loader.F("gid_to_group", sidToGroup),
		loader.F("group_to_gid", groupToSID),
		loader.F("lchown", changeLinkOwner),
		loader.F("set_attributes", setAttributes),
		loader.F("set_mode", setNoMode),
		loader.F("set_perms", p.setPerms),
		loader.F("uid_to_user", sidToUser),
		loader.F("user_to_uid", userToSID),
	}
}
